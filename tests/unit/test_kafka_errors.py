import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.errors import (
    AuthenticationFailed,
    BrokerUnavailable,
    BufferFull,
    KafkaRefused,
    NotAuthorized,
    OperationTimedOut,
    TopicNotFound,
)
from penstock.kafka.errors import Right, translate, translated

WRITE = Right("WRITE", "topic", "orders")
READ = Right("READ", "group", "billing")


def test_a_refusal_names_user_operation_and_resource() -> None:
    error = translate(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "sending", needs=[WRITE], user="alice")
    assert isinstance(error, NotAuthorized)
    assert error.message == "sending: user 'alice' lacks WRITE on topic 'orders'"
    assert "ACL" in error.hint


def test_of_several_rights_the_one_for_the_refused_resource_is_named() -> None:
    error = translate(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED), "reading", needs=[WRITE, READ])
    assert error.message == "reading: the user lacks READ on group 'billing'"


def test_a_right_on_the_cluster_has_no_name() -> None:
    needs = [Right("DESCRIBE", "cluster")]
    error = translate(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED), "listing", needs=needs)
    assert error.message == "listing: the user lacks DESCRIBE on cluster"


def test_an_unknown_topic_is_a_lookup_error_with_a_hint() -> None:
    error = translate(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), "reading orders", topic="orders")
    assert isinstance(error, TopicNotFound)
    assert isinstance(error, LookupError)
    assert error.details == {"kafka_error": "UNKNOWN_TOPIC_OR_PART", "topic": "orders"}


def test_a_refused_connection_is_told_without_librdkafkas_state() -> None:
    text = "localhost:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)"
    error = translate(KafkaError(KafkaError._TRANSPORT, text), "listing topics")
    assert isinstance(error, BrokerUnavailable)
    assert error.message == "listing topics: Connect to ipv4#127.0.0.1:1 failed: Connection refused"


def test_a_certificate_that_is_refused_is_told_so_even_as_a_lost_connection() -> None:
    text = "ssl://localhost:1/bootstrap: error:0A000086:SSL routines::certificate verify failed"
    error = translate(KafkaError(KafkaError._TRANSPORT, text), "listing topics")
    assert isinstance(error, AuthenticationFailed)
    assert error.message == "listing topics: error:0A000086:SSL routines::certificate verify failed"
    assert "ssl.ca.location" in error.hint


def test_a_coordinator_that_moves_is_worth_another_try() -> None:
    assert isinstance(translate(KafkaError(KafkaError.NOT_COORDINATOR), "reading"), OperationTimedOut)


def test_what_is_not_known_is_refused_as_it_is() -> None:
    error = translate(KafkaError(KafkaError.POLICY_VIOLATION, "too many partitions"), "creating topic 'orders'")
    assert type(error) is KafkaRefused
    assert error.message == "creating topic 'orders': too many partitions"


def test_exceptions_of_librdkafka_do_not_get_out() -> None:
    with pytest.raises(TopicNotFound, match="reading: "), translated("reading"):
        raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    with pytest.raises(BufferFull, match="sending: the buffer is full"), translated("sending"):
        raise BufferError
