"""The webhook action against a real server: payloads, signature, what is tried again, and what stays secret."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from penstock.actions.builtin import webhook_address
from penstock.actions.builtin.webhook import Webhook, WebhookConfig
from penstock.actions.builtin.webhook_http import retry_after
from penstock.errors import TargetRefused, TargetUnavailable, UsageError
from tests.action_context import context, event
from tests.conftest import RunCommand


class Receiver(ThreadingHTTPServer):
    """Answers as it is told, and keeps what it got."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer: tuple[int, dict[str, str], bytes] = (200, {}, b"ok")
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/services/T0/s3cret-path"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, body))
        status, extra, said = self.server.answers.pop(0) if self.server.answers else self.server.answer
        self.send_response(status)
        for name, value in extra.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's signature
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


EVENT = event({"category": "TAG", "operation": "ADD", "entityUrn": "urn:li:dataset:<!channel> & co"}, offset=42)


def send(receiver: Receiver, **config: Any) -> tuple[dict[str, str], Any]:
    """Send the event; the headers and the payload that arrived."""
    action = Webhook.create({"url": receiver.url, **config}, context())
    try:
        action.act(EVENT)
    finally:
        action.close()
    _, headers, body = receiver.requests[-1]
    return headers, json.loads(body)


def test_the_envelope_is_sent_as_json_with_its_origin(receiver: Receiver) -> None:
    headers, body = send(receiver, headers={"authorization": "Bearer x"})
    assert body == json.loads(EVENT.as_json())
    assert headers["x-penstock-origin"] == "t/0/42"
    assert headers["x-penstock-pipeline"] == "test"
    assert headers["content-type"] == "application/json"
    assert headers["authorization"] == "Bearer x"
    assert "x-penstock-signature" not in headers


def test_a_slack_message_comes_from_a_template_and_events_cannot_mention_anybody(receiver: Receiver) -> None:
    _, body = send(receiver, format="slack", text="<!here> {{ operation }} {{ category }} on {{ entityUrn }}")
    assert body == {"text": "<!here> ADD TAG on urn:li:dataset:&lt;!channel&gt; &amp; co"}


def test_a_teams_message_is_an_adaptive_card(receiver: Receiver) -> None:
    _, body = send(receiver, format="teams", text="**{{ category }}** {{ '[click](http://evil)' }}")
    card = body["attachments"][0]["content"]
    assert body["type"] == "message"
    assert card["type"] == "AdaptiveCard"
    assert card["body"][0]["text"] == "**TAG** \\[click\\]\\(http\u2060:\u2060//evil\\)"


def test_a_message_without_a_template_shows_the_event_and_is_cut(receiver: Receiver) -> None:
    _, body = send(receiver, format="slack")
    assert body["text"].startswith("EntityChangeEvent_v1: {")
    action = Webhook.create({"url": receiver.url, "format": "slack", "text": "{{ big }}"}, context())
    action.act(event({"big": "x" * 100_000}))
    assert len(json.loads(receiver.requests[-1][2])["text"]) == 3000
    action.close()


def test_a_body_of_any_shape_comes_from_a_template(receiver: Receiver) -> None:
    _, body = send(receiver, body={"what": "{{ lower(category) }}", "list": ["{{ meta.kafka.offset }}", 1]})
    assert body == {"what": "tag", "list": [42, 1]}


def test_the_signature_covers_the_time_and_the_body(receiver: Receiver) -> None:
    headers, _ = send(receiver, secret="k3y")
    moment, _, digest = headers["x-penstock-signature"].partition(",v1=")
    signed = moment.removeprefix("t=").encode() + b"." + receiver.requests[-1][2]
    assert hmac.compare_digest(digest, hmac.new(b"k3y", signed, hashlib.sha256).hexdigest())


@pytest.mark.parametrize("status", [429, 500, 503, 408])
def test_answers_that_may_pass_are_transient_with_the_pause_that_is_asked_for(receiver: Receiver, status: int) -> None:
    receiver.answer = (status, {"retry-after": "17"}, b"later")
    with pytest.raises(TargetUnavailable, match=f"answers {status}: later") as failure:
        send(receiver)
    assert failure.value.retry_after == 17


@pytest.mark.parametrize("status", [400, 401, 404, 302])
def test_other_answers_are_final_and_redirects_are_not_followed(receiver: Receiver, status: int) -> None:
    receiver.answer = (status, {"location": receiver.url}, b"no")
    with pytest.raises(TargetRefused, match=f"answers {status}"):
        send(receiver)
    assert len(receiver.requests) == 1


def test_a_server_that_is_not_there_is_transient_and_the_secret_part_of_the_url_is_not_shown(
    receiver: Receiver,
) -> None:
    action = Webhook.create({"url": "http://127.0.0.1:1/s3cret-path", "secret": "k3y"}, context())
    with pytest.raises(TargetUnavailable) as failure:
        action.act(EVENT)
    action.close()
    assert "http://127.0.0.1:1/…" in str(failure.value)
    assert "s3cret" not in str(failure.value)
    shown = repr(WebhookConfig.model_validate({"url": receiver.url, "headers": {"a": "tok"}, "secret": "k3y"}))
    assert not [secret for secret in ("s3cret", "tok", "k3y") if secret in shown]


def test_a_pipeline_tries_again_after_the_pause_and_keeps_what_is_refused(
    receiver: Receiver, run_command: RunCommand, tmp_path: Path
) -> None:
    receiver.answers = [(429, {"retry-after": "0"}, b""), (503, {}, b""), (200, {}, b""), (400, {}, b"bad tag")]
    action = {"type": "webhook", "config": {"url": receiver.url}}
    options = {"retry_count": 2, "retry_on": "transient", "retry_backoff": 0.01, "failed_events_dir": str(tmp_path)}
    (tmp_path / "hook.yaml").write_text(json.dumps({"name": "hook", "action": action, "options": options}))
    (tmp_path / "events").write_text(f"{EVENT.as_json()}\n{EVENT.as_json()}\n")
    ran = run_command("run", "hook.yaml", "--events", "events")
    assert "1 done, 1 failed, 2 retried" in ran.err
    assert len(receiver.requests) == 4
    (failed,) = (tmp_path / "hook" / "failed_events.log").read_text().splitlines()
    assert json.loads(failed)["error"]["message"].endswith("answers 400: bad tag")


def test_a_huge_answer_is_not_read_to_its_end(receiver: Receiver) -> None:
    receiver.answer = (400, {}, b"x" * 10_000_000)
    with pytest.raises(TargetRefused) as failure:
        send(receiver)
    assert len(str(failure.value)) < 500


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({}, "url"),
        ({"url": "ftp://x"}, "url"),
        ({"url": "http://169.254.169.254/latest"}, "url"),
        ({"url": "http://[::ffff:169.254.169.254]/"}, "url"),
        ({"url": "http://[64:ff9b::a9fe:a9fe]/"}, "url"),
        ({"url": "http://[fd00:ec2::254]/"}, "url"),
        ({"url": "http://x", "format": "xml"}, "format"),
        ({"url": "http://x", "headers": {"Host": "y"}}, "headers"),
        ({"url": "http://x", "headers": {"a b": "y"}}, "headers"),
        ({"url": "http://x", "body": "{{ nope( }}"}, "body"),
        ({"url": "http://x", "text": "a"}, ""),
        ({"url": "http://x", "format": "slack", "text": "{{ 1 + }}"}, "text"),
        ({"url": "http://x", "timeout": 0}, "timeout"),
        ({"url": "http://x", "ca": "nowhere.pem"}, "ca"),
        ({"url": "http://x", "retries": 3}, "retries"),
    ],
)
def test_a_wrong_config_is_refused_before_anything_is_sent(config: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as failure:
        WebhookConfig.model_validate(config)
    found = failure.value.errors()[0]["loc"]
    assert (found[0] if found else "") == place


@pytest.mark.parametrize("value", ["hunter2\n", "hunter2\r\n", "hun\nter2", "hunter2 ", "hunter2€"])
def test_a_header_that_ends_in_a_line_break_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(ValidationError) as failure:
        WebhookConfig.model_validate({"url": "http://x", "headers": {"Authorization": value}})
    assert "hun" not in str(failure.value)


def test_the_name_of_a_pipeline_fits_into_a_header(receiver: Receiver) -> None:
    action = Webhook.create({"url": receiver.url}, replace(context(), pipeline_name="a\nb ü "))
    action.act(EVENT)
    action.close()
    assert receiver.requests[-1][1]["x-penstock-pipeline"] == "a?b ?"


def test_a_name_that_stands_for_a_forbidden_address_is_refused() -> None:
    with pytest.raises(UsageError, match=r"169\.254\.169\.254"):
        Webhook.create({"url": "http://2852039166/latest"}, context())


def test_each_connection_is_checked_before_anything_is_sent(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that was harmless at the start may resolve to another address later."""
    monkeypatch.setattr(webhook_address, "_SECRETS_OF_MACHINES", {ip_address("127.0.0.1")})
    action = Webhook.create({"url": receiver.url.replace("127.0.0.1", "receiver.test"), "timeout": 2}, context())
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _host, *more, **given: resolve("127.0.0.1", *more, **given))
    with pytest.raises(TargetRefused, match=r"127\.0\.0\.1, which is no address for a webhook"):
        action.act(EVENT)
    action.close()
    assert receiver.requests == []


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    from datetime import UTC, datetime  # noqa: PLC0415 - only this test has dates

    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert retry_after("5") == 5
    assert retry_after("Thu, 01 Jan 2026 00:00:30 GMT", now) == 30
    assert retry_after("Wed, 01 Jan 2020 00:00:00 GMT", now) == 0
    assert retry_after("999999999") == 3600
    assert retry_after("soon") is None
    assert retry_after(None) is None
