"""Dead letters by their commands, with letters as the collector, Spark and actions write them."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.config import Settings
from penstock.deadletters.replay import _NAME
from penstock.errors import KafkaRefused
from penstock.events.dead_letter import dead_letter_headers
from penstock.events.record import ConsumerRecord
from penstock.kafka.admin import Admin
from penstock.kafka.configs import alter_topic_settings
from penstock.kafka.heartbeat import Heartbeats
from penstock.kafka.producer import Producer
from penstock.kafka.span import find_span, read_span
from penstock.kafka.topics import ensure_dead_letters, ensure_topic
from penstock.kafka.transactions import Outgoing, TransactionalProducer
from tests.conftest import RunCommand

Refuse = Callable[..., None]


@pytest.fixture
def box(settings: Settings, topic: str) -> str:
    """A dead-letter topic, beside the topic that its letters were meant for."""
    for name in (topic, f"{topic}.dead"):
        ensure_topic(settings, name, partitions=1)
    return f"{topic}.dead"


@pytest.fixture
def refuse(settings: Settings, topic: str, box: str) -> Refuse:
    """Put letters into the box, one for each value."""

    def send(*values: bytes, code: str = "record.invalid", pipeline: str = "events", first: int = 100) -> None:
        with Producer(box, serializer=bytes, key_type="bytes", settings=settings) as producer:
            for number, value in enumerate(values):
                headers = dead_letter_headers(
                    [("trace", b"t")],
                    code=code,
                    message=f"refused: {value!r}",
                    pipeline=pipeline,
                    failed_at=datetime.now(UTC),
                    origin=f"{topic}/0/{number + first}",
                )
                producer.send(value, key=b"k%d" % number, headers=headers)

    return send


def held(settings: Settings, topic: str) -> list[ConsumerRecord]:
    return list(read_span(settings, find_span(settings, [topic])))


def test_letters_are_counted_by_pipeline_and_error(
    refuse: Refuse, box: str, topic: str, run_command: RunCommand
) -> None:
    refuse(b"1", b"2")
    refuse(b"3", code="record.undecodable", pipeline="other")
    shown = " ".join(run_command("deadletters", "list", "--letters", box, "--limit", 1).lines)
    assert "refused: b'3'" in shown
    assert "refused: b'2'" not in shown
    found = json.loads(run_command("deadletters", "list", "--letters", box, "--json").out)
    assert [(group["pipeline"], group["code"], group["topic"], group["count"]) for group in found["counts"]] == [
        ("events", "record.invalid", topic, 2),
        ("other", "record.undecodable", topic, 1),
    ]
    found = json.loads(run_command("deadletters", "list", "--letters", box, "--code", "record.invalid", "--json").out)
    assert [(group["count"], group["replayed"]) for group in found["counts"]] == [(2, 0)]
    assert [letter["value"] for letter in found["newest"]] == ["2", "1"]


def test_boxes_are_found_by_their_names(refuse: Refuse, box: str, topic: str, run_command: RunCommand) -> None:
    refuse(b"1")
    found = json.loads(run_command("deadletters", "list", "--topic", topic, "--json").out)
    assert [(group["letters"], group["count"]) for group in found["counts"]] == [(box, 1)]
    assert "no dead letters" in run_command("deadletters", "list", "--topic", topic, "--since", "0s ago").out


def test_a_letter_is_shown_by_its_own_place_or_its_origin(
    refuse: Refuse, box: str, topic: str, run_command: RunCommand
) -> None:
    refuse(b'{"User_ID": 42, "a": "[bold]\\u001b"}', b"\x00\xff raw")
    by_origin = run_command("deadletters", "show", f"{topic}/0/100")
    assert by_origin.lines[1:8] == [
        f"letter {box}/0/0",
        f"origin {topic}/0/100",
        "pipeline events",
        *[line for line in by_origin.lines if line.startswith("refused ")],
        by_origin.lines[5],
        "hint repair the value (show --json, edit, replay --file), or let the schema take it and replay",
        "replayed never",
    ]
    assert by_origin.out.endswith('{\n  "User_ID": 42,\n  "a": "[bold]\\u001b"\n}\n')
    assert "00 ff 20 72 61 77" in run_command("deadletters", "show", f"{box}/0/1").out
    missing = run_command("deadletters", "show", f"{box}/0/9")
    assert (missing.code, "dead_letter.not_found" in missing.err) == (1, True)


def test_letters_go_back_once_and_again_only_on_purpose(
    refuse: Refuse, settings: Settings, box: str, topic: str, run_command: RunCommand
) -> None:
    refuse(b"1", b"2")
    refuse(b"3", code="record.undecodable", first=200)
    words = ("deadletters", "replay", "--letters", box)
    assert "2 letters would be sent" in run_command(*words, "--code", "record.invalid", "--dry-run").out
    assert run_command(*words).code == 2, "nobody is there to ask"
    assert held(settings, topic) == []
    assert run_command(*words, "--code", "record.invalid", "--yes").lines[-1] == "replayed 2 letters"
    second = run_command(*words, "--yes")
    assert second.lines[0] == f"1 letter to send to {topic}"
    assert second.lines[1].startswith("2 letters left out, replayed before; --again")
    assert run_command(*words, "--yes").lines[-1].startswith("3 letters left out")
    back = held(settings, topic)
    assert [(record.key, record.value) for record in back] == [(b"k0", b"1"), (b"k1", b"2"), (b"k0", b"3")]
    assert back[0].headers == [("trace", b"t"), ("penstock.replayed_from", f"{box}/0/0".encode())]
    assert run_command(*words, "--again", "--yes").lines[-1] == "replayed 3 letters"
    assert len(held(settings, topic)) == 6
    assert "replayed 2 times, last" in " ".join(run_command("deadletters", "show", f"{box}/0/0").lines)


def test_a_letter_is_not_sent_to_a_topic_that_its_pipeline_does_not_read(
    settings: Settings, topic: str, run_command: RunCommand
) -> None:
    box = f"{topic}.own.dead"
    for name in (box, topic, f"{topic}.payroll"):
        ensure_topic(settings, name, partitions=1)
    with Producer(box, serializer=bytes, settings=settings) as producer:
        for target in (topic, f"{topic}.payroll"):
            headers = dead_letter_headers(
                [], code="x", message="", pipeline=f"p-{topic}", failed_at=datetime.now(UTC), origin=f"{target}/0/1"
            )
            producer.send(b"1", headers=headers)
    words = ("deadletters", "replay", "--letters", box, "--yes")
    refused = run_command(*words).lines
    assert refused == [
        f"1 letter left out, their pipeline is not known to read {name}; --topic {name} sends them"
        for name in (topic, f"{topic}.payroll")
    ]
    with closing(Heartbeats(settings)) as heartbeats:
        heartbeats.send("q", {"pipeline": f"p-{topic}", "position": {topic: {"0": 5}}})
    assert run_command(*words).lines[-1] == "replayed 1 letter"
    assert (len(held(settings, topic)), held(settings, f"{topic}.payroll")) == (1, [])
    assert run_command(*words, "--topic", f"{topic}.payroll").lines[-1] == "replayed 1 letter"


def test_repaired_letters_are_replayed_from_a_file(
    refuse: Refuse, settings: Settings, box: str, run_command: RunCommand, tmp_path: Path
) -> None:
    topic = box.removesuffix(".dead")
    refuse(b'{"id": 1}', b'{"id": 2}')
    letters = [json.loads(line) for line in run_command("deadletters", "show", "--letters", box, "--json").lines]
    letters[0]["value"] = {"id": "1"}
    file = tmp_path / "repaired.jsonl"
    file.write_text("".join(f"{json.dumps(letter)}\n" for letter in letters[:1]))
    assert run_command("deadletters", "replay", "--file", file, "--yes").lines[-1] == "replayed 1 letter"
    assert [record.value for record in held(settings, topic)] == [b'{"id":"1"}']
    left = run_command("deadletters", "replay", "--letters", box, "--dry-run")
    assert left.lines[0] == f"1 letter would be sent to {topic}"


def test_a_letter_goes_back_to_a_topic_that_takes_it_and_holds_up_no_other(
    settings: Settings, topic: str, run_command: RunCommand
) -> None:
    box = f"{topic}.dead"
    ensure_dead_letters(settings, box)
    ensure_topic(settings, topic, partitions=1)
    large = base64.b64encode(os.urandom(4_000_000))
    options = {"message.max.bytes": 8_000_000}
    with Producer(box, serializer=bytes, settings=settings, options=options) as producer:
        for number, value in enumerate([b"1", large, b"2"]):
            headers = dead_letter_headers(
                [], code="x", message="", pipeline="p", failed_at=datetime.now(UTC), origin=f"{topic}/0/{number}"
            )
            producer.send(value, headers=headers)
    words = ("deadletters", "replay", "--letters", box, "--yes")
    first = run_command(*words)
    assert (first.code, first.lines[-1]) == (1, "replayed 2 letters")
    assert f"1 letter not replayed, larger than {topic} allows" in first.err
    assert [record.value for record in held(settings, topic)] == [b"1", b"2"]
    with Admin(settings) as admin:
        alter_topic_settings(admin, topic, {"max.message.bytes": "8000000"})
    assert run_command(*words).lines[-1] == "replayed 1 letter"
    assert [record.value for record in held(settings, topic)] == [b"1", b"2", large]


def test_letters_whose_batch_is_too_large_for_their_topic_are_sent_one_by_one(
    refuse: Refuse, settings: Settings, box: str, run_command: RunCommand, tmp_path: Path
) -> None:
    topic = box.removesuffix(".dead")
    small = [base64.b64encode(os.urandom(600)) for _ in range(10)]
    compressible = b"x" * 5_000
    refuse(*small, compressible)
    with Admin(settings) as admin:
        alter_topic_settings(admin, topic, {"max.message.bytes": "2000"})
    file, letters = tmp_path / "letters.jsonl", run_command("deadletters", "show", "--letters", box, "--json").lines
    file.write_text("".join(f"{line}\n" for line in [*letters, *letters]))
    found = run_command("deadletters", "replay", "--file", file, "--yes")
    assert (found.code, found.lines[-1]) == (0, "replayed 11 letters"), found.err
    assert sorted(record.value or b"" for record in held(settings, topic)) == sorted([*small, compressible])


def test_letters_go_to_another_topic_that_has_to_be_there(
    refuse: Refuse, settings: Settings, box: str, topic: str, run_command: RunCommand
) -> None:
    refuse(b"1")
    ensure_topic(settings, f"{topic}.other", partitions=1)
    words = ("deadletters", "replay", "--letters", box, "--yes", "--to")
    missing = run_command(*words, f"{topic}.othr")
    assert (missing.code, f"did you mean {topic}.other?" in missing.err) == (1, True)
    assert run_command(*words, f"{topic}.other").code == 0
    assert [record.value for record in held(settings, f"{topic}.other")] == [b"1"]


def test_of_two_replays_at_once_the_earlier_one_sends_no_more(settings: Settings, topic: str) -> None:
    ensure_topic(settings, topic, partitions=1)
    with closing(TransactionalProducer(settings, _NAME)) as first:
        with first.transaction():
            first.send(Outgoing(topic, None, b"committed", []))
        with pytest.raises(KafkaRefused, match=r"another penstock\.replay began"), first.transaction():
            _send_and_be_overtaken(first, settings, topic)
    assert [record.value for record in held(settings, topic)] == [b"committed"]


def _send_and_be_overtaken(first: TransactionalProducer, settings: Settings, topic: str) -> None:
    first.send(Outgoing(topic, None, b"taken back", []))
    TransactionalProducer(settings, _NAME).close()


def test_a_record_that_several_sinks_refused_goes_back_once(
    settings: Settings, refuse: Refuse, box: str, topic: str, run_command: RunCommand
) -> None:
    refuse(b"one", b"two")
    refuse(b"one", b"two")
    assert run_command("deadletters", "replay", "--letters", box, "--yes").lines == [
        f"2 letters to send to {topic}",
        "2 letters left out, of the same records as others",
        "replayed 2 letters",
    ]
    assert [record.value for record in held(settings, topic)] == [b"one", b"two"]
    assert "4 letters left out" in run_command("deadletters", "replay", "--letters", box, "--yes").out
    assert len(held(settings, topic)) == 2
