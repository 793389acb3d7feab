from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from penstock.actions import committing
from penstock.actions.committing import Commits
from penstock.actions.halt import Halt
from penstock.actions.source_spec import KafkaSource
from penstock.actions.tracker import Tracker
from penstock.errors import CommitFailed
from penstock.events.record import ConsumerRecord, Offset, Partition, TopicName
from penstock.kafka.offsets import Offsets


class Broker:
    """A reader that notes what it is told; its first commits may be refused."""

    def __init__(self, refuses: int = 0) -> None:
        self.refuses = refuses
        self.told: list[tuple[int, bool]] = []

    def commit(self, done: Offsets, *, wait: bool) -> None:
        if self.refuses:
            self.refuses -= 1
            raise CommitFailed("away")
        self.told.append((max(done.values()), wait))


class Work:
    """A pipeline that does one event after the other, and looks after its commits as it goes."""

    def __init__(self, broker: Broker, **source: Any) -> None:
        self.tracker, self.halt = Tracker(), Halt()
        self.commits = Commits(KafkaSource(**source), broker, self.tracker, self.halt)  # type: ignore[arg-type]
        self._offset = 0

    def do(self, count: int) -> None:
        for _ in range(count):
            record = ConsumerRecord(
                None, b"", (), 0, TopicName("t"), Partition(0), Offset(self._offset), has_schema=False
            )
            window = self.tracker.receive([record])[0][1]
            self.tracker.finish(window, record)
            self._offset += 1
            self.commits.commit_if_due()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let so many seconds pass."""
    ahead = [0.0]
    monkeypatch.setattr(committing, "monotonic", lambda: time.monotonic() + ahead[0])

    def pass_(seconds: float) -> None:
        ahead[0] += seconds

    return pass_


def test_sync_waits_for_an_answer_after_a_hundred_events_and_async_does_not_after_five_hundred() -> None:
    broker = Broker()
    Work(broker, commit="sync").do(250)
    assert broker.told == [(100, True), (200, True)]
    broker = Broker()
    Work(broker).do(1250)
    assert broker.told == [(500, False), (1000, False)]


def test_datahub_s_synchronous_mode_commits_every_event() -> None:
    broker = Broker()
    Work(broker, async_commit_enabled=False).do(3)
    assert broker.told == [(1, True), (2, True), (3, True)]


def test_what_is_done_is_committed_after_a_second_at_the_latest(later: Callable[[float], None]) -> None:
    broker = Broker()
    work = Work(broker)
    work.do(3)
    assert broker.told == []
    later(1.1)
    work.commits.commit_if_due()
    assert broker.told == [(3, False)]


def test_interval_goes_by_time_alone(later: Callable[[float], None]) -> None:
    broker = Broker()
    work = Work(broker, commit="interval", commit_interval="10s")
    work.do(5000)
    later(9)
    work.do(1)
    assert broker.told == []
    later(1.1)
    work.do(1)
    assert broker.told == [(5002, False)]


def test_sync_does_nothing_more_until_the_broker_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "_PAUSE_SECONDS", 0.001)
    broker = Broker(refuses=3)
    Work(broker, commit="sync", commit_every=1).do(2)
    assert broker.told == [(1, True), (2, True)]


def test_what_was_refused_goes_with_a_later_commit_though_nothing_is_done_since(
    later: Callable[[float], None],
) -> None:
    broker = Broker(refuses=1)
    work = Work(broker, commit_every=1)
    work.do(1)
    assert broker.told == []
    later(1.1)
    work.commits.commit_if_due()
    assert broker.told == [(1, False)]
