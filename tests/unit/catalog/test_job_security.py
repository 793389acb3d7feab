"""Whoever may write a job must not read this process's secrets, nor run code in it."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from penstock.catalog.jobs.settings import job_settings
from penstock.catalog.jobs.spec import JobSpec, read_spec
from penstock.config import PassThrough, Settings
from penstock.errors import ConfigError
from tests.catalog_messages import job_properties

ROUTES = {"t": ("GobblinTrackingCompactionProcessor", "stg_kafka_gobblin_compaction")}
OWN = Settings(
    bootstrap="kafka-1:9093, kafka-2:9093",
    kafka=PassThrough({"security.protocol": "SASL_SSL", "sasl.password": "s1", "client.rack": "r"}),
    registry="https://a/, https://b/",
    registry_user="u",
    registry_password=SecretStr("s2"),
    registry_token=SecretStr("s3"),
)
ENV = {
    "KAFKA": "kafka-2:9093",
    "ELSEWHERE": "evil:9093",
    "REGISTRY": "http://registry:8081",
    "KAFKA_PASSWORD": "s4",
    "CA": "/ca.pem",
    "DATABASE": "postgresql://me:s5@db/x",
    "CODE": "hunter2",
}


def spec(**given: str) -> JobSpec:
    return read_spec(job_properties("g", ROUTES, **given), ENV, own_cluster=OWN.bootstrap)


def refusals(**given: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        spec(**given)
    return [problem.message for problem in raised.value.problems]


@pytest.mark.parametrize(
    "name",
    [
        *("plugin.library.paths", "ssl.engine.location", "ssl.providers", "sasl.kerberos.kinit.cmd", "debug"),
        *("sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.config", "sasl.jaas.config", "sasl.login.class"),
        *("interceptor.classes", "metric.reporters", "consumer.plugin.library.paths", "log_level"),
    ],
)
def test_a_property_that_is_not_known_to_be_harmless_is_refused(name: str) -> None:
    assert any(f"{name} is not allowed in a job" in message for message in refusals(**{name: "x.so"}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bootstrap.servers": "evil:9093", "sasl.password": "$KAFKA_PASSWORD"}, "brokers of the settings only"),
        ({"bootstrap.servers": "$ELSEWHERE", "sasl.password": "${KAFKA_PASSWORD}"}, "brokers of the settings only"),
        ({"bootstrap.servers": "evil:9093", "sasl.username": "$CODE"}, "brokers of the settings only"),
        ({"bootstrap.servers": "kafka-1:9093,evil:9093", "ssl.ca.location": "$CA"}, "brokers of the settings only"),
        ({"bootstrap.servers": "evil:9093", "consumer.ssl.ca.location": "$CODE"}, "brokers of the settings only"),
        ({"client.id": "$CODE"}, "for addresses, files and credentials only"),
        ({"consumer.client.id": "$CODE"}, "for addresses, files and credentials only"),
        ({"group.id": "$CODE"}, "for addresses, files and credentials only"),
        ({"client.rack": "${CODE}"}, "for addresses, files and credentials only"),
        ({"kafka.topics": "$CODE"}, "for addresses, files and credentials only"),
        ({"consumer.bootstrap.servers": "evil:9093", "sasl.password": "$KAFKA_PASSWORD"}, "of the settings only"),
        ({"bootstrap.servers": "$CODE"}, "CODE is not a list of brokers"),
        ({"bootstrap.servers": "$KAFKA_PASSWORD"}, "KAFKA_PASSWORD is a secret"),
        ({"schemaRegistryUrl": "$CODE"}, "CODE is not a list of http or https URLs"),
        ({"schemaRegistryUrl": "$DATABASE"}, "DATABASE is a secret"),
        ({"ssl.ca.location": "$KAFKA_PASSWORD"}, "KAFKA_PASSWORD is a secret"),
        ({"bootstrap.servers": "evil:9093", "ssl.key.location": "/k.pem"}, "this machine's keys"),
    ],
)
def test_a_job_sends_no_secret_of_the_environment_elsewhere(given: dict[str, str], message: str) -> None:
    assert any(message in each for each in refusals(**given))


def test_values_of_the_environment_reach_the_cluster_of_the_settings() -> None:
    given = {"bootstrap.servers": "$KAFKA", "sasl.password": "$KAFKA_PASSWORD", "ssl.ca.location": "$CA"}
    assert dict(spec(**given, schemaRegistryUrl="$REGISTRY").kafka) == {
        "bootstrap.servers": "kafka-2:9093",
        "sasl.password": "s4",
        "ssl.ca.location": "/ca.pem",
    }


def test_a_property_that_is_not_used_may_be_a_variable() -> None:
    assert not spec(**{"zookeeper.connect": "$CODE"}).kafka


@pytest.mark.parametrize("given", [{}, {"bootstrap.servers": "KAFKA-2:9093"}])
def test_the_credentials_of_the_settings_reach_their_cluster(given: dict[str, str]) -> None:
    assert dict(job_settings(OWN, spec(**given)).kafka) == dict(OWN.kafka)


@pytest.mark.parametrize("brokers", ["evil:9093", "kafka-1:9093,evil:9093", "kafka-1:9094"])
def test_the_credentials_of_the_settings_reach_no_other_cluster(brokers: str) -> None:
    assert dict(job_settings(OWN, spec(**{"bootstrap.servers": brokers})).kafka) == {"client.rack": "r"}


@pytest.mark.parametrize(
    "weaker", [{"security.protocol": "SASL_PLAINTEXT"}, {"enable.ssl.certificate.verification": "false"}]
)
def test_a_job_cannot_send_the_password_of_the_settings_by_a_weaker_protocol(weaker: dict[str, str]) -> None:
    assert dict(job_settings(OWN, spec(**weaker)).kafka) == {"client.rack": "r", **weaker}


@pytest.mark.parametrize(
    ("urls", "is_own"),
    [
        ("https://b/ccompat", True),
        ("https://b,https://a", True),
        ("http://b", False),
        ("https://b:8443", False),
        ("https://b@evil", False),
        ("https://a,https://evil", False),
        ("https://[evil", False),
    ],
)
def test_the_registrys_credentials_go_to_the_registries_of_the_settings_only(urls: str, is_own: bool) -> None:
    chosen = job_settings(OWN, spec(schemaRegistryUrl=urls))
    sent = [chosen.registry_user, chosen.registry_password, chosen.registry_token]
    assert all(each is not None for each in sent) if is_own else sent == [None, None, None]
