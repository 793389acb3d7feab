from __future__ import annotations

from typing import Any

import pytest

from penstock.config import Settings
from penstock.errors import UsageError
from penstock.kafka.consumer_options import librdkafka_options, with_options
from penstock.kafka.decoding import RecordDecoder
from penstock.kafka.start import topic_names
from penstock.schemas import AvroCodec, MemoryRegistry


def options(
    passed: dict[str, Any] | None = None, *, topics: tuple[str, ...] = ("orders",), **given: Any
) -> dict[str, Any]:
    plain = {"group": "g", "fallback": "earliest", "assignment": "eager", "instance_id": None}
    return librdkafka_options(with_options(Settings(), passed or {}), topics, **plain | given)


def test_librdkafka_never_commits_by_itself() -> None:
    made = options()
    assert made["enable.auto.commit"] is False
    assert made["enable.auto.offset.store"] is False


def test_a_fast_consumer_is_not_starved() -> None:
    assert options()["fetch.queue.backoff.ms"] == 5


def test_what_is_passed_through_wins() -> None:
    assert options({"fetch.queue.backoff.ms": 50, "check.crcs": True}).items() >= {
        ("fetch.queue.backoff.ms", 50),
        ("check.crcs", "true"),
    }


@pytest.mark.parametrize("name", ["enable.auto.commit", "auto.offset.reset", "group.id"])
def test_what_has_a_name_of_its_own_is_not_passed_through(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        options({name: "x"})


def test_cooperative_assignment_and_static_membership_are_settings() -> None:
    made = options(assignment="cooperative", instance_id="one")
    assert made["partition.assignment.strategy"] == "cooperative-sticky"
    assert made["group.instance.id"] == "one"


def test_patterns_leave_kafkas_own_topics_out() -> None:
    assert "topic.blacklist" not in options()
    assert options(topics=("^.*",))["topic.blacklist"] == "^__.*"


@pytest.mark.parametrize("given", [{"fallback": "middle"}, {"assignment": "lazy"}])
def test_unknown_choices_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(given))):
        options(**given)


@pytest.mark.parametrize(
    ("key_type", "legacy", "on_undecodable"),
    [("float", "bytes", "raise"), ("bytes", "xml", "raise"), ("bytes", "bytes", "skip")],
)
def test_unknown_ways_to_decode_are_refused(key_type: Any, legacy: Any, on_undecodable: Any) -> None:
    with pytest.raises(UsageError):
        RecordDecoder(AvroCodec(MemoryRegistry()), key_type, legacy, on_undecodable)


@pytest.mark.parametrize("topics", ["", [], ["orders", ""], "^("])
def test_no_topic_and_patterns_that_cannot_be_read_are_refused(topics: str | list[str]) -> None:
    with pytest.raises(UsageError):
        topic_names(topics)
