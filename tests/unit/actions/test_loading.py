from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from penstock.actions.clients import clients_of
from penstock.actions.loading import is_enabled, load_pipeline
from penstock.actions.spec import PipelineSpec
from penstock.config import load_settings
from penstock.config.yaml_file import read_yaml
from penstock.errors import ConfigError

SEED = """
name: "pipeline-name"
source:
  type: "kafka"
  config:
    # Connection-related configuration
    connection:
      bootstrap: ${KAFKA_BOOTSTRAP_SERVER:-localhost:9092}
      schema_registry_url: ${SCHEMA_REGISTRY_URL:-http://localhost:8081}
      # Dictionary of freeform consumer configs propagated to underlying Kafka Consumer
      consumer_config:
          #security.protocol: ${KAFKA_PROPERTIES_SECURITY_PROTOCOL:-PLAINTEXT}
    # Topic Routing - which topics to read from.
    topic_routes:
      mcl: ${METADATA_CHANGE_LOG_VERSIONED_TOPIC_NAME:-MetadataChangeLog_Versioned_v1}
      pe: ${PLATFORM_EVENT_TOPIC_NAME:-PlatformEvent_v1}
action:
  type: hello_world
"""

EVERY_DATAHUB_KEY = """
name: all
enabled: "true"
source:
  type: kafka
  config:
    connection:
      bootstrap: broker:9092
      schema_registry_url: http://registry:8081
      schema_registry_config: {basic.auth.user.info: "user:secret"}
      client_timeout_seconds: 20
      consumer_config:
        security.protocol: SASL_SSL
        auto.offset.reset: earliest
        group.id: other-group
        max.poll.interval.ms: 10000
        enable.auto.commit: true
    topic_routes: {mcl: M, mcl_timeseries: T, pe: P, orders: orders}
    async_commit_enabled: false
    async_commit_interval: 10000
    commit_retry_count: 5
    commit_retry_backoff: 10.0
    enable_mcl_pre_deserialization_filter: true
filter:
  event_type: EntityChangeEvent_v1
  event: {category: TAG, operation: [ADD, REMOVE]}
filters:
  - {type: event_type, config: {filter: {EntityChangeEvent_v1: {event: [{category: TAG}]}}}}
transform: []
action: {type: hello_world, config: {to_upper: true}}
datahub: {server: "http://gms:8080", token: t}
options: {retry_count: "3", failure_mode: throw, failed_events_dir: failed}
"""

MISTAKES = """
name: wrong
nmae: typo
source:
  type: kafka
  config:
    conection: {}
    topic_routes: {pe: "not a topic!"}
    start: yesteryear
    commit: sometimes
    commit_every: 0
filter:
  event_typ: X
transform:
  - type: no_such_transformer
action:
  type: hello_wrld
options:
  retry_count: -1
  failure_mode: PERHAPS
  ordering: keys
  concurrency: many
  workers: 0
"""


def load(directory: Path, text: str, **env: str) -> PipelineSpec:
    path = directory / "action.yaml"
    path.write_text(dedent(text))
    return load_pipeline(read_yaml(path, env))


def test_the_file_of_datahub_s_own_page_is_understood(tmp_path: Path) -> None:
    spec = load(tmp_path, SEED, PLATFORM_EVENT_TOPIC_NAME="mine")
    source = spec.source.config
    assert source.routes() == {"MetadataChangeLog_Versioned_v1": "mcl", "mine": "pe"}
    assert (source.connection.bootstrap, dict(source.connection.consumer_config)) == ("localhost:9092", {})
    assert (spec.options.failure_mode, spec.options.retry_count) == ("CONTINUE", 0)


def test_the_smallest_file_has_datahub_s_defaults(tmp_path: Path) -> None:
    spec = load(tmp_path, "name: small\naction: {type: hello_world}")
    assert spec.source.config.routes() == {
        "MetadataChangeLog_Versioned_v1": "mcl",
        "MetadataChangeLog_v1": "mcl",
        "MetadataChangeLog_Timeseries_v1": "mcl_timeseries",
        "PlatformEvent_v1": "pe",
    }
    clients = clients_of(spec, load_settings(env={}).settings)
    assert (clients.group, clients.fallback) == ("small", "latest")
    assert (spec.source.config.start, spec.source.config.commits) == ("committed", ("async", 500))
    assert spec.dead_letters == "small.dead"


def test_every_key_that_datahub_has_is_understood(tmp_path: Path) -> None:
    spec = load(tmp_path, EVERY_DATAHUB_KEY)
    clients = clients_of(spec, load_settings(env={}).settings)
    assert (clients.group, clients.fallback) == ("other-group", "earliest")
    assert dict(clients.consumer.kafka) == {
        "session.timeout.ms": 10000,
        "topic.metadata.refresh.interval.ms": 10000,
        "security.protocol": "SASL_SSL",
        "max.poll.interval.ms": 10000,
    }
    assert dict(clients.others.kafka) == {"security.protocol": "SASL_SSL"}
    assert (clients.consumer.bootstrap, clients.consumer.registry) == ("broker:9092", "http://registry:8081")
    assert (clients.consumer.timeout, clients.others.registry_user) == (20, "user")
    assert spec.source.config.commits == ("sync", 1)
    assert (spec.options.failure_mode, spec.options.retry_count) == ("THROW", 3)


ROUTES = "name: a\nsource:\n  config:\n    topic_routes: {}\naction: {{type: hello_world}}"


@pytest.mark.parametrize("routes", ["{mcl: T, pe: T}", "{pe: [A, T], order: T}", "{order: T, invoice: [T]}"])
def test_a_topic_under_two_routes_is_a_mistake(tmp_path: Path, routes: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, ROUTES.format(routes))
    (problem,) = refused.value.problems
    assert problem.place.endswith(":4")
    assert "the topic T is under two routes" in problem.message


def test_both_routes_of_change_logs_may_name_one_topic(tmp_path: Path) -> None:
    spec = load(tmp_path, ROUTES.format("{mcl: T, mcl_timeseries: T, pe: [P, P]}"))
    assert list(spec.source.config.routes()) == ["T", "P"]


SMALL = "name: a\naction: {type: hello_world}\n"
IN_FILE = f"{SMALL}source: {{config: {{connection: {{bootstrap: b:1, consumer_config: {{sasl.username: file}}}}}}}}"


def test_kafka_s_properties_of_the_environment_are_read_as_datahub_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "SECURITY_PROTOCOL": "SASL_SSL",
        "SASL_USERNAME": "environment",
        "FETCH_WAIT_MAX_MS": "7",
        "AUTO_OFFSET_RESET": "earliest",
        "BOOTSTRAP_SERVERS": "other:9092",
        "GROUP_ID": "not-taken",
        "SSL_KEYSTORE_LOCATION": "/not/there.jks",
        "SASL_JAAS_CONFIG": "not-taken",
        "ENABLE_AUTO_COMMIT": "true",
        "SSL_CA_LOCATION": "",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"KAFKA_PROPERTIES_{name}", value)
    clients = clients_of(load(tmp_path, IN_FILE), load_settings(env={}).settings)
    shared = {"security.protocol": "SASL_SSL", "sasl.username": "file", "bootstrap.servers": "other:9092"}
    assert dict(clients.others.kafka) == shared
    assert dict(clients.consumer.kafka) == {
        "session.timeout.ms": 10000,
        "topic.metadata.refresh.interval.ms": 10000,
        "fetch.wait.max.ms": "7",
        **shared,
    }
    assert (clients.group, clients.fallback) == ("a", "earliest")


def test_the_environment_s_properties_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PROPERTIES_SECURITY_PROTOCOL", "SSL")
    monkeypatch.setenv("DATAHUB_ACTIONS_KAFKA_ENV_PROPERTIES_ENABLED", "False")
    assert dict(clients_of(load(tmp_path, SMALL), load_settings(env={}).settings).others.kafka) == {}


def test_the_registry_s_certificates_are_named_in_confluent_s_words(tmp_path: Path) -> None:
    files = "{ssl.ca.location: ca.pem, ssl.certificate.location: me.pem, ssl.key.location: key.pem}"
    connection = f"source: {{config: {{connection: {{schema_registry_config: {files}}}}}}}"
    spec = load(tmp_path, f"name: a\naction: {{type: hello_world}}\n{connection}")
    found = clients_of(spec, load_settings(env={}).settings).others
    assert (found.registry_ca, found.registry_certificate, found.registry_key) == tuple(
        map(Path, ("ca.pem", "me.pem", "key.pem"))
    )


def test_every_mistake_is_told_at_once_each_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, MISTAKES)
    told = {(int(p.place.rpartition(":")[2]), p.message.split(" ")[0].rstrip(":")) for p in refused.value.problems}
    assert told == {
        (3, "nmae"),
        (7, "source.config.conection"),
        (8, "source.config.topic_routes.pe.0"),
        (9, "source.config.start"),
        (10, "source.config.commit"),
        (11, "source.config.commit_every"),
        (13, "filter.event_typ"),
        (15, "transform.0.type"),
        (17, "action.type"),
        (19, "options.retry_count"),
        (20, "options.failure_mode"),
        (21, "options.ordering"),
        (22, "options.concurrency"),
        (23, "options.workers"),
    }
    hints = {p.hint for p in refused.value.problems}
    assert {"did you mean name?", "did you mean connection?", "did you mean hello_world?"} <= hints


def test_mistakes_in_an_action_s_own_config_have_their_line_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, "name: a\naction:\n  type: hello_world\n  config:\n    to_uper: true\n")
    (problem,) = refused.value.problems
    assert problem.place.endswith(":5")
    assert (problem.message.split(" ")[0], problem.hint) == ("action.config.to_uper", "did you mean to_upper?")


@pytest.mark.parametrize("action", ["nowhere:Class", "penstock.errors:NoSuchClass", "penstock.errors:Problem"])
def test_a_class_that_cannot_serve_as_an_action_is_told_before_the_start(tmp_path: Path, action: str) -> None:
    with pytest.raises(ConfigError, match=action.partition(":")[0]):
        load(tmp_path, f"name: a\naction: {{type: '{action}'}}")


def test_a_class_of_the_user_s_own_may_stand_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "beside_the_file.py").write_text(
        "class Mine:\n    def create(config, ctx): ...\n    def act(self, event): ...\n"
    )
    assert load(tmp_path, "name: a\naction: {type: 'beside_the_file:Mine'}").action.type == "beside_the_file:Mine"


def test_stateless_and_several_processes_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stateless"):
        load(
            tmp_path,
            "name: a\nsource: {config: {stateless: true}}\naction: {type: hello_world}\noptions: {workers: 2}",
        )


@pytest.mark.parametrize("value", ["false", '"false"', "False", "no"])
def test_a_file_can_be_switched_off(tmp_path: Path, value: str) -> None:
    path = tmp_path / "off.yaml"
    path.write_text(f"enabled: {value}\nnonsense: here")
    assert not is_enabled(read_yaml(path, {}))


def test_dead_letters_can_be_named_or_switched_off(tmp_path: Path) -> None:
    text = "name: 'My Action!'\naction: {{type: hello_world}}\noptions: {{dead_letters: {}}}"
    assert load(tmp_path, text.format("letters")).dead_letters == "letters"
    assert load(tmp_path, text.format("false")).dead_letters is None
    spec = load(tmp_path, text.format("null"))
    assert (spec.dead_letters, spec.directory) == ("My_Action_.dead", "my_action_")


@pytest.mark.parametrize(
    ("name", "options"), [("other", "options: {dead_letters: mine.dead}"), ("mine", ""), ("mine", "options: {}")]
)
def test_dead_letters_are_not_sent_to_a_topic_that_is_read(tmp_path: Path, name: str, options: str) -> None:
    source = "source: {config: {topic_routes: {pe: [other, mine.dead]}}}"
    with pytest.raises(ConfigError, match=r"the source reads the topic mine\.dead"):
        load(tmp_path, f"name: {name}\n{source}\naction: {{type: hello_world}}\n{options}")


def test_no_secret_of_a_file_is_shown(tmp_path: Path) -> None:
    spec = load(tmp_path, EVERY_DATAHUB_KEY)
    assert "user:secret" not in repr(spec.source)
    secret = "datahub: {server: 'http://g', token: geheim, extra_headers: {Authorization: Basic geheim}}"
    shown = repr(load(tmp_path, f"{SMALL}{secret}"))
    assert ("http://g" in shown, "geheim" in shown) == (True, False)
