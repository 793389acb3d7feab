import pytest
from confluent_kafka import KafkaError

from penstock.kafka import watch
from penstock.kafka.watch import ConnectionWatch

ALL_DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN)
REFUSED = KafkaError(KafkaError._TRANSPORT, "Connection refused")


def test_brokers_that_were_down_for_a_moment_are_waited_for() -> None:
    watching = ConnectionWatch()
    watching(ALL_DOWN)
    assert not watching.hopeless
    assert watching.reason is None


def test_brokers_that_close_connections_without_a_word_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SILENCE", 0)
    watching = ConnectionWatch()
    watching(ALL_DOWN)
    assert watching.hopeless
    assert "closed without a word" in watching.explained(KafkaError(KafkaError._TIMED_OUT)).str()


def test_what_librdkafka_says_is_preferred_to_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SILENCE", 0)
    watching = ConnectionWatch()
    watching(ALL_DOWN)
    watching(REFUSED)
    assert not watching.hopeless
    assert watching.explained(KafkaError(KafkaError._TIMED_OUT)) is REFUSED
