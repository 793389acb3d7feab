from __future__ import annotations

import time

import pytest
from confluent_kafka import KafkaError

from penstock.kafka.deliveries import Failures
from penstock.kafka.keys import key_serde
from penstock.kafka.outbox import Outbox

STRING = key_serde("string")


class ForgetfulHandle:
    """A librdkafka that keeps a message beyond its time and never tells, as it does when it loses a new broker."""

    def __init__(self) -> None:
        self.purged = False

    def __len__(self) -> int:
        return 0 if self.purged else 1

    def poll(self, seconds: float) -> int:
        time.sleep(min(seconds, 0.001))
        return 0

    def flush(self, _seconds: float) -> int:
        return len(self)

    def purge(self) -> None:
        self.purged = True

    def close(self) -> None:
        """Nothing is connected."""


def test_messages_that_are_not_reported_in_time_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.kafka.outbox._STUCK_SECONDS", 0.05)
    handle = ForgetfulHandle()
    monkeypatch.setattr("penstock.kafka.outbox.Handle", lambda _options: handle)
    failures = Failures("orders", STRING, STRING)
    outbox = Outbox("orders", {"delivery.timeout.ms": 100}, reports=failures, buffer_timeout=1)
    deadline = time.monotonic() + 5
    while not handle.purged and time.monotonic() < deadline:
        time.sleep(0.01)
    outbox.close(0)
    reason = failures.explain(KafkaError(KafkaError._PURGE_QUEUE), "sending 5 bytes to orders")
    assert handle.purged
    assert "the broker did not confirm it in time" in reason.message
