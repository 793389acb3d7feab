import pytest

from penstock.errors import KafkaRefused
from penstock.kafka.log_dirs import second_client_options


def test_options_of_librdkafka_are_given_the_other_clients_names() -> None:
    given = {
        "bootstrap.servers": "a:9092",
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": "x",
        "ssl.ca.location": "ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
        "reconnect.backoff.max.ms": 2000,
    }
    assert second_client_options(given) == {
        "bootstrap_servers": "a:9092",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "alice",
        "sasl_plain_password": "x",
        "ssl_cafile": "ca.pem",
        "ssl_check_hostname": False,
    }


def test_a_mechanism_that_the_other_client_cannot_take_over_is_told() -> None:
    with pytest.raises(KafkaRefused, match="works with PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 only"):
        second_client_options({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"})
