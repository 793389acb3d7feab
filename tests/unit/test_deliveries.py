from __future__ import annotations

from threading import Timer

import pytest
from confluent_kafka import KafkaError

from penstock.errors import DeliveryFailed, NotAuthorized, PenstockError
from penstock.kafka.deliveries import Failures
from penstock.kafka.keys import key_serde

STRING = key_serde("string")


@pytest.fixture
def failures() -> Failures:
    return Failures("orders", STRING, STRING, user="ada")


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (KafkaError._MSG_TIMED_OUT, DeliveryFailed, "the broker did not confirm it in time"),
        (KafkaError._PURGE_QUEUE, DeliveryFailed, "the producer was closed before it could be sent"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, NotAuthorized, "user 'ada' lacks WRITE on topic 'orders'"),
    ],
)
def test_a_failure_is_explained_in_plain_words(
    failures: Failures, code: int, kind: type[PenstockError], words: str
) -> None:
    failures.on_purge()
    error = failures.explain(KafkaError(code), "sending 5 bytes to orders")
    assert isinstance(error, kind)
    assert str(error) == f"sending 5 bytes to orders: {words}"


def test_after_a_fatal_error_all_that_is_purged_has_that_reason(failures: Failures) -> None:
    failures.on_fatal(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED))
    for code in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._FATAL):
        assert isinstance(failures.explain(KafkaError(code), "sending"), NotAuthorized)
    assert isinstance(failures.explain(KafkaError(KafkaError._MSG_TIMED_OUT), "sending"), DeliveryFailed)


def test_who_hears_of_a_purge_before_its_reason_waits_for_it(failures: Failures) -> None:
    told = Timer(0.05, failures.on_fatal, [KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)])
    told.start()
    assert isinstance(failures.explain(KafkaError(KafkaError._PURGE_QUEUE), "sending"), NotAuthorized)
    told.join()


def test_nothing_failed_is_no_report(failures: Failures) -> None:
    assert failures.take() is None
