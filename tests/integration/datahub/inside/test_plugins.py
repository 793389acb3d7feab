"""DataHub's own plugins and classes written after its guides, run from files such as its samples; HTTP is faked."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

import pytest
import slack_bolt.util.utils
from slack_sdk import WebClient

from penstock.cli import run_actions
from penstock.cli.main import main
from tests.action_context import event
from tests.conftest import Ran
from tests.metadata_events import change_log, entity_change

pytestmark = pytest.mark.filterwarnings("ignore")
"""DataHub's code warns of itself, and its plugins take a warning that is an error for a failed event."""

UPSTREAM, DOWNSTREAM = (
    f"urn:li:dataset:(urn:li:dataPlatform:hive,db.{name},PROD)" for name in ("upstream", "downstream")
)
SYSTEM = {"actor": "urn:li:corpuser:__datahub_system", "time": 1}
SOURCE = """
source:
  type: "kafka"
  config:
    connection:
      bootstrap: ${KAFKA_BOOTSTRAP_SERVER:-localhost:9092}
      schema_registry_url: ${SCHEMA_REGISTRY_URL:-http://localhost:8081}
    topic_routes:
      mcl: ${METADATA_CHANGE_LOG_VERSIONED_TOPIC_NAME:-MetadataChangeLog_Versioned_v1}
      pe: ${PLATFORM_EVENT_TOPIC_NAME:-PlatformEvent_v1}
"""
GRAPH = "datahub:\n  server: ${SERVER}\n  token: geheim\n"
CUSTOM_ACTION = """
from datahub_actions.action.action import Action

class CustomAction(Action):
    @classmethod
    def create(cls, config_dict, ctx):
        print("created with", config_dict)
        return cls(ctx)

    def __init__(self, ctx):
        self.ctx = ctx

    def act(self, event):
        print(event)

    def close(self):
        print("closed", self.ctx.pipeline_name)
"""
CUSTOM_TRANSFORMER = """
from datahub_actions.transform.transformer import Transformer

class CustomTransformer(Transformer):
    @classmethod
    def create(cls, config_dict, ctx):
        print("transformer with", config_dict)
        return cls(ctx)

    def __init__(self, ctx):
        self.ctx = ctx

    def transform(self, event):
        print("seen", type(event.event).__name__)
        return event
"""
Run = Callable[..., Ran]


class Request(NamedTuple):
    """What a client asked for."""

    path: str
    body: dict[str, Any]
    token: str | None


class Server(ThreadingHTTPServer):
    """Stands in for DataHub's server and for Slack's."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def bodies(self, path: str) -> list[dict[str, Any]]:
        return [request.body for request in self.asked if request.path.startswith(path)]


class Answers(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        is_json = "json" in self.headers.get("Content-Type", "")
        self._answer(json.loads(text or "{}") if is_json else {key: value[0] for key, value in parse_qs(text).items()})

    def log_message(self, *_args: object) -> None: ...

    def _answer(self, body: dict[str, Any]) -> None:
        path = unquote(self.path)
        self.server.asked.append(Request(path, body, self.headers.get("Authorization")))
        related = {"count": 1, "total": 1, "relationships": [{"entity": DOWNSTREAM}]}
        found: dict[str, Any] = {"ok": True, "noCode": "true", "user_id": "U", "bot_id": "B", "team_id": "T"}
        answer = json.dumps(related if path.startswith("/relationships") and UPSTREAM in path else found).encode()
        self.send_response(404 if path.startswith(("/entities", "/aspects/")) else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server: Server) -> Run:
    """`penstock run` of a file with this content over these events."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERVER", server.url)
    monkeypatch.setattr(run_actions, "beats_of", lambda _charges: [])

    def call(content: str, *events: Any, check: bool = False) -> Ran:
        path, lines = tmp_path / "action.yaml", tmp_path / "events.log"
        path.write_text(content)
        lines.write_text("".join(f"{each.as_json()}\n" for each in events))
        given = ["--check"] if check else ["--events", str(lines)]
        monkeypatch.setattr(sys, "argv", ["penstock", "run", str(path), *given])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Ran(int(ended.value.code or 0), printed.out, printed.err)

    return call


def tag(**fields: Any) -> Any:
    return event(entity_change(entityUrn=UPSTREAM, **fields))


def test_an_action_and_a_transformer_after_datahubs_guides_run_beside_their_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "custom_action.py").write_text(CUSTOM_ACTION)
    (tmp_path / "custom_transformer.py").write_text(CUSTOM_TRANSFORMER)
    transform = 'transform:\n  - type: "custom_transformer:CustomTransformer"\n    config: {config1: value1}\n'
    action = 'action:\n  type: "custom_action:CustomAction"\n  config: {config1: value1}\n'
    log = event(change_log(), "MetadataChangeLogEvent_v1")
    ran = run(f'name: "custom_test"{SOURCE}{transform}{action}', tag(), log)
    assert ran.code == 0, ran.err
    printed = ran.out.splitlines()
    assert printed[:2] == ["transformer with {'config1': 'value1'}", "created with {'config1': 'value1'}"]
    assert printed[2] == "seen EntityChangeEvent"
    assert printed[3].startswith("EventEnvelope(event_type='EntityChangeEvent_v1', event=EntityChangeEvent({")
    assert printed[4] == "seen MetadataChangeLogEvent"
    assert printed[5].startswith("EventEnvelope(event_type='MetadataChangeLogEvent_v1', event=MetadataChangeLogEvent({")
    assert printed[6:] == ["closed custom_test"]


def test_tags_are_propagated_to_what_is_downstream(run: Run, server: Server) -> None:
    action = 'action:\n  type: "tag_propagation"\n  config: {tag_prefixes: [pii]}\n'
    other = tag(modifier="urn:li:tag:other")
    ran = run(f'name: "tags"{SOURCE}{action}{GRAPH}', tag(), other, tag(category="OWNER"))
    assert (ran.code, "3 events, 0 filtered, 3 done, 0 failed" in ran.err) == (0, True), ran.err
    written = [body for request in server.asked if "ingestProposal" in request.path for body in [request.body]]
    assert len(written) == 1, server.asked
    assert DOWNSTREAM in json.dumps(written[0])
    assert "urn:li:tag:pii" in json.dumps(written[0])
    assert {request.token for request in server.asked} == {"Bearer geheim"}


def test_slack_is_posted_each_change_of_an_entity_but_the_systems_own(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = partial(WebClient, base_url=f"{server.url}/slack/")
    monkeypatch.setattr(slack_bolt.util.utils, "WebClient", client)
    config = "{bot_token: xoxb-1, signing_secret: s, default_channel: '#data', base_url: http://datahub:9002}"
    text = f'name: "slack"\nenabled: ${{SLACK_ENABLED:-true}}{SOURCE}action: {{type: slack, config: {config}}}\n{GRAPH}'
    ran = run(text, tag(), tag(auditStamp=SYSTEM), event(change_log(), "MetadataChangeLogEvent_v1"))
    assert (ran.code, "3 done, 0 failed" in ran.err) == (0, True), ran.err
    welcome, posted = server.bodies("/slack/chat.postMessage")
    assert "watching" not in posted["text"]
    assert (welcome["channel"], posted["channel"]) == ("#data", "#data")
    assert "jane" in posted["text"]
    assert "has added tag" in posted["text"]


FILES = {
    "hello_world": "action:\n  type: hello_world\n",
    "metadata_change_sync": """filter:
  event_type: "MetadataChangeLogEvent_v1"
  event:
    changeType: "UPSERT"
action:
  type: "metadata_change_sync"
  config:
    gms_server: ${SERVER}
    aspects_to_exclude: []
    aspects_to_include: ['schemaMetadata', 'status']
    extra_headers: {}
    urn_regex: ".*"
""",
    "doc_propagation": "action: {type: doc_propagation, config: {columns_enabled: true}}\n" + GRAPH,
    "teams": "enabled: ${TEAMS_ENABLED:-false}\naction:\n  type: teams\n  config:\n    webhook_url: ${TEAMS_URL}\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_such_as_datahubs_samples_are_checked_and_run(run: Run, name: str) -> None:
    content = f'name: "{name}"{SOURCE}{FILES[name]}'
    checked = run(content, check=True)
    assert checked.code == 0, checked.err
    ran = run(content, event(change_log(), "MetadataChangeLogEvent_v1"), tag(category="OWNER"))
    assert (ran.code, "failed (" in ran.err) == (0, False), ran.err


def test_a_metadata_change_is_sent_to_the_other_server(run: Run, server: Server) -> None:
    ran = run(f'name: "sync"{SOURCE}{FILES["metadata_change_sync"]}', event(change_log(), "MetadataChangeLogEvent_v1"))
    assert (ran.code, "1 done" in ran.err) == (0, True), ran.err
    [sent] = [request.body for request in server.asked if "ingestProposal" in request.path]
    assert (sent["proposal"]["aspectName"], sent["proposal"]["changeType"]) == ("status", "UPSERT")
