"""The examples of actions run as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RunCommand

EXAMPLES = Path(__file__).parents[3] / "examples" / "actions"


def test_every_file_is_in_order(run_command: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", "https://hooks.slack.com/services/T0/B0/x")
    files = sorted(EXAMPLES.glob("*.yaml"))
    assert len(files) == 3
    ran = run_command("run", "--check", *files)
    assert ran.code == 0, ran.err


def test_the_action_of_one_s_own_counts_the_tags_of_a_file(run_command: RunCommand) -> None:
    ran = run_command("run", EXAMPLES / "tag_counts.yaml", "--events", EXAMPLES / "events.jsonl")
    assert (ran.code, ran.lines) == (0, ["pii 2", "pii 2, raw 1"])


def test_the_file_of_datahub_s_page_prints_events(run_command: RunCommand) -> None:
    ran = run_command("run", EXAMPLES / "datahub.yaml", "--events", EXAMPLES / "events.jsonl")
    assert ran.code == 0
    assert ran.out.count("Hello world!") == 4


def test_the_slack_example_would_tell_of_personal_data_only(
    run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_WEBHOOK_URL", "https://hooks.slack.com/services/T0/B0/x")
    ran = run_command("run", EXAMPLES / "slack.yaml", "--dry-run", "--events", EXAMPLES / "events.jsonl")
    assert ran.code == 0
    assert (ran.out.count("orders"), ran.out.count("customers"), ran.out.count("clicks")) == (1, 1, 0)


def test_an_action_that_puts_events_off_can_take_them_from_a_file_too(run_command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "putting_off.py").write_text(
        "class PutsOff:\n"
        "    def __init__(self, ctx): self.ack, self.waiting = ctx.event_source.ack, []\n"
        "    create = classmethod(lambda cls, config, ctx: cls(ctx))\n"
        "    def act(self, event): return self.waiting.append(event) or False\n"
        "    def close(self): print(len(self.waiting), [self.ack(event) for event in self.waiting])\n"
    )
    (tmp_path / "a.yaml").write_text("name: a\naction: {type: 'putting_off:PutsOff'}\n")
    ran = run_command("run", "a.yaml", "--events", EXAMPLES / "events.jsonl")
    assert (ran.code, ran.lines) == (0, ["4 [None, None, None, None]"])
    assert "4 done" in ran.err
