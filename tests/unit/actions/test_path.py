from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from penstock.actions.event_source import TrackedSource
from penstock.actions.filter import Everything
from penstock.actions.halt import Halt
from penstock.actions.path import EventPath, Stages
from penstock.actions.retries import Retries, told
from penstock.actions.tally import Counts, Tally
from penstock.actions.tracker import Tracker
from penstock.errors import ActionFailed, RecordUndecodable, RegistryUnavailable, Transient
from penstock.events.envelope import EventEnvelope
from penstock.events.metadata import Event
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from penstock.kafka.offsets import PartitionId

HERE = PartitionId(TopicName("t"), Partition(0))


class Numbers:
    """A decoder of messages that are numbers; some are bad, and the registry may be away at first."""

    def __init__(self, away: int = 0) -> None:
        self.away = away

    def decode(self, record: ConsumerRecord) -> EventEnvelope | None:
        if self.away:
            self.away -= 1
            raise RegistryUnavailable("the registry is away")
        if record.value == b"bad":
            raise RecordUndecodable("no number")
        return EventEnvelope("number", Event({"n": int(record.value)}), None, record)

    def type_of(self, record: ConsumerRecord) -> str:
        del record
        return "unknown"


class Even(Everything):
    def matches(self, event: EventEnvelope) -> bool:
        return event.event.n % 2 == 0  # type: ignore[no-any-return]


class Kept:
    """Failed events in memory; the topic may be away at first."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.written: list[tuple[str, Any, str]] = []
        self.sent: list[str] = []

    def prepare(self) -> None: ...

    def write(self, record: ConsumerRecord, event: EventEnvelope | None, event_type: str, error: BaseException) -> None:
        del event_type
        self.written.append((str(record.origin), event and event.event.data, told(error)[1]))

    def send(self, record: ConsumerRecord, error: BaseException) -> None:
        del error
        if self.away:
            self.away -= 1
            raise Transient("the broker is away")
        self.sent.append(str(record.origin))


class Call:
    """An action or a transformer that is a function."""

    def __init__(self, function: Callable[[EventEnvelope], Any]) -> None:
        self.act = self.transform = function


class Run:
    """A path over the given messages, gone to its end."""

    def __init__(
        self, act: Callable[[EventEnvelope], Any], *values: bytes, halt: Halt | None = None, **stages: Any
    ) -> None:
        self.kept = Kept()
        self.tracker, self.tally, self.halt = Tracker(), Tally(), halt or Halt()
        chosen = Stages(
            decoder=Numbers(),
            filter=Everything(),
            transformers=(),
            action=Call(act),
            retries=Retries(2, 0.001, 0.001, every_error=False),
            failure_mode="CONTINUE",
            failed=self.kept,
        )._replace(**stages)
        path = EventPath(chosen, self.tracker, self.tally, self.halt)
        topic, partition = HERE
        records = [
            ConsumerRecord(None, value, (), 1, topic, partition, Offset(n), False) for n, value in enumerate(values)
        ]
        for record, window in self.tracker.receive(records):
            path.begin(record, window)

    @property
    def done(self) -> int:
        """The offset that may be committed."""
        return self.tracker.offsets()[HERE]

    def counts(self, event_type: str = "number") -> tuple[int, int, int, int, int]:
        """Received, filtered, done, failed, retried."""
        found = self.tally.by_type.get(event_type, Counts())
        return found.received, found.filtered, found.done, found.failed, found.retried


def failing(*errors: BaseException) -> Callable[[EventEnvelope], None]:
    """An action that fails with these, one after the other, and then works."""
    left = list(errors)

    def act(_event: EventEnvelope) -> None:
        if left:
            raise left.pop(0)

    return act


@pytest.mark.parametrize("answer", [None, True])
def test_an_event_is_done_when_its_action_returns(answer: object) -> None:
    run = Run(lambda _event: answer, b"0", b"1")
    assert (run.done, run.counts()) == (2, (2, 0, 2, 0, 0))


def test_what_the_filter_does_not_want_is_done_without_the_action() -> None:
    seen: list[int] = []
    run = Run(lambda event: seen.append(event.event.n), b"0", b"1", b"2", filter=Even())
    assert (seen, run.done, run.counts()) == ([0, 2], 3, (3, 1, 2, 0, 0))


def test_transformers_run_in_their_order_and_may_drop_an_event() -> None:
    def add(event: EventEnvelope) -> EventEnvelope:
        event.event.data["n"] += 10
        return event

    def drop_odd(event: EventEnvelope) -> EventEnvelope | None:
        return event if event.event.n % 2 == 0 else None

    seen: list[int] = []
    run = Run(lambda event: seen.append(event.event.n), b"0", b"1", transformers=(Call(add), Call(drop_odd)))
    assert (seen, run.done, run.counts()) == ([10], 2, (2, 1, 1, 0, 0))


def test_errors_that_may_pass_are_tried_again_with_the_event_as_it_was_read() -> None:
    seen: list[int] = []

    def spoil(event: EventEnvelope) -> None:
        seen.append(event.event.n)
        event.event.data["n"] = -1
        if len(seen) < 3:
            raise Transient("not yet")

    run = Run(spoil, b"7")
    assert (seen, run.done, run.counts()) == ([7, 7, 7], 1, (1, 0, 1, 0, 2))


def test_an_event_that_fails_for_good_is_kept_as_it_was_read_and_counts_as_failed_only() -> None:
    def spoil(event: EventEnvelope) -> None:
        event.event.data["n"] = -1
        raise ValueError("no")

    run = Run(spoil, b"7")
    assert run.kept.written == [("t/0/0", {"n": 7}, "ValueError: no")]
    assert run.kept.sent == ["t/0/0"]
    assert (run.done, run.counts()) == (1, (1, 0, 0, 1, 0))


def test_retries_are_used_up_before_an_event_fails() -> None:
    run = Run(failing(Transient("1"), Transient("2"), Transient("3")), b"7")
    assert ([line[2] for line in run.kept.written], run.counts()) == (["3"], (1, 0, 0, 1, 2))


@pytest.mark.parametrize("error", [SystemExit(3), MemoryError(), RecursionError(), KeyError("x")])
def test_whatever_an_action_raises_fails_its_event_and_nothing_else(error: BaseException) -> None:
    run = Run(failing(error), b"7", b"8")
    assert (run.done, run.counts(), run.halt.is_set) == (2, (2, 0, 1, 1, 0), False)


def test_an_undecodable_message_is_a_failed_event() -> None:
    run = Run(lambda _event: None, b"bad", b"1")
    assert run.kept.written == [("t/0/0", None, "no number")]
    assert (run.done, run.counts("unknown"), run.counts()) == (2, (1, 0, 0, 1, 0), (1, 0, 1, 0, 0))


@pytest.mark.parametrize(
    ("values", "kept"),
    [((b"0", b"bad", b"2"), (None, "no number")), ((b"0", b"1", b"2"), ({"n": 1}, "ValueError: no"))],
)
def test_throw_writes_the_event_to_the_file_and_ends_the_pipeline_there(
    values: tuple[bytes, ...], kept: tuple[Any, str]
) -> None:
    def act(event: EventEnvelope) -> None:
        if event.event.n == 1:
            raise ValueError("no")

    run = Run(act, *values, failure_mode="THROW")
    assert isinstance(run.halt.failure, ActionFailed)
    assert "t/0/1" in run.halt.failure.message
    assert (run.done, run.kept.written, run.kept.sent) == (1, [("t/0/1", *kept)], [])


def test_a_deferred_event_holds_its_partition_back_until_it_is_acknowledged() -> None:
    events: list[EventEnvelope] = []

    def act(event: EventEnvelope) -> bool:
        events.append(event)
        return event.event.n != 0

    run = Run(act, b"0", b"1")
    assert (run.done, run.counts()) == (0, (2, 0, 1, 0, 0))
    source = TrackedSource(run.tracker, run.tally)
    source.ack(events[0], processed=False)
    assert run.done == 0
    source.ack(events[0])
    source.ack(events[0])
    assert (run.done, run.counts()) == (2, (2, 0, 2, 0, 0))


def test_a_nonsensical_answer_counts_as_done_and_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        run = Run(lambda _event: 42, b"0", b"1")
    assert run.done == 2
    assert [
        record.getMessage() for record in caplog.records if "act returned int" in record.getMessage()
    ].__len__() == 1


def test_a_transformer_that_returns_no_event_fails_the_event() -> None:
    run = Run(lambda _event: None, b"0", transformers=(Call(lambda _event: "nonsense"),))
    assert (run.kept.written[0][2], run.done) == ("Call.transform returned str, not an event", 1)


def test_a_registry_that_is_away_is_waited_for_and_fails_no_event() -> None:
    run = Run(lambda _event: None, b"0", decoder=Numbers(away=2))
    assert (run.done, run.counts(), run.kept.written) == (1, (1, 0, 1, 0, 0), [])


def test_an_event_is_not_done_before_the_dead_letters_have_it() -> None:
    kept = Kept(away=1)
    run = Run(failing(ValueError("no")), b"0", failed=kept)
    assert (len(kept.written), kept.sent, run.done) == (1, ["t/0/0"], 1)


def test_failed_events_that_cannot_be_kept_end_the_pipeline() -> None:
    class Full(Kept):
        def write(self, *_words: object) -> None:
            raise ActionFailed("the disk is full")

    run = Run(failing(ValueError("no")), b"0", b"1", failed=Full())
    assert str(run.halt.failure) == "the disk is full"
    assert run.done == 0


def test_retries_end_when_the_pipeline_does_and_the_event_is_left_for_the_next_run() -> None:
    halt = Halt()

    def act(_event: EventEnvelope) -> None:
        halt.set()
        raise Transient("for a long time")

    run = Run(act, b"0", halt=halt, retries=Retries(10, 3600.0, 3600.0, every_error=False))
    assert (run.done, run.counts(), run.kept.written) == (0, (1, 0, 0, 0, 1), [])
