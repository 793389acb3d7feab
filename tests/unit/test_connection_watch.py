import pytest
from confluent_kafka import KafkaError

from penstock.kafka import watch
from penstock.kafka.watch import ConnectionWatch

DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN)
REFUSED = KafkaError(KafkaError._TRANSPORT, "Connection refused")
OUT_OF_TIME = KafkaError(KafkaError._TIMED_OUT)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])
    return now


def test_a_first_refusal_does_not_count(clock: list[float]) -> None:
    seen = ConnectionWatch()
    seen(REFUSED)
    seen(DOWN)
    clock[0] += 60
    assert not seen.hopeless


def test_refusals_that_go_on_are_hopeless(clock: list[float]) -> None:
    seen = ConnectionWatch()
    seen(REFUSED)
    seen(DOWN)
    clock[0] += watch.PATIENCE
    seen(REFUSED)
    assert seen.hopeless


def test_one_broker_of_several_may_refuse_for_ever(clock: list[float]) -> None:
    seen = ConnectionWatch()
    seen(REFUSED)
    clock[0] += 60
    seen(REFUSED)
    assert not seen.hopeless


def test_a_new_call_starts_with_new_hope(clock: list[float]) -> None:
    seen = ConnectionWatch()
    seen(DOWN)
    clock[0] += watch.PATIENCE
    seen(REFUSED)
    seen.restart()
    assert not seen.hopeless
    assert seen.explained(OUT_OF_TIME) is OUT_OF_TIME


def test_the_reason_stands_in_for_a_bare_time_out() -> None:
    seen = ConnectionWatch()
    seen(REFUSED)
    other = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    assert seen.explained(OUT_OF_TIME) is REFUSED
    assert seen.explained(other) is other
