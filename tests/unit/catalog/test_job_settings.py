from __future__ import annotations

from pathlib import Path

import pytest

from penstock.catalog.jobs.settings import job_settings
from penstock.catalog.jobs.spec import read_spec
from penstock.config import Settings, load_settings
from penstock.config.settings import shown_settings
from tests.catalog_messages import job_properties

ROUTES = {"t": ("GobblinTrackingCompactionProcessor", "stg_kafka_gobblin_compaction")}


@pytest.mark.parametrize(
    "text", ["kafka.consumer.etl.jobid: [1, 2]", 'kafka: {"consumer.etl.jobid": "[1,2]"}', "jobs: [1, 2]", "jobs: 1, 2"]
)
def test_the_jobs_of_a_process_are_named_in_the_settings_as_wherehows_did(tmp_path: Path, text: str) -> None:
    (tmp_path / "penstock.yaml").write_text(text)
    loaded = load_settings(tmp_path / "penstock.yaml", env={})
    assert loaded.settings.jobs == ("1", "2")
    assert dict(loaded.settings.kafka) == {}
    assert ("jobs", "1, 2", f"{tmp_path}/penstock.yaml:1") in list(shown_settings(loaded))


def test_the_jobs_of_a_process_may_stand_in_the_environment() -> None:
    assert load_settings(env={"PENSTOCK_JOBS": "3"}).settings.jobs == ("3",)


def test_a_job_names_its_own_cluster_and_registry_and_passes_on_what_kafka_needs() -> None:
    given = {"bootstrap.servers": "broker:1", "schemaRegistryUrl": "http://other:2", "sasl.username": "ann"}
    ignored = {"key.deserializer": "x", "max.poll.records": "5", "consumer.session.timeout.ms": "9000"}
    spec = read_spec(job_properties("g", ROUTES, **given, **ignored), {})
    chosen = job_settings(Settings(kafka={"client.rack": "r"}), spec)  # type: ignore[arg-type] # pydantic takes a mapping
    assert (chosen.bootstrap, chosen.registry) == ("broker:1", "http://other:2")
    assert dict(chosen.kafka) == {"client.rack": "r", "sasl.username": "ann", "session.timeout.ms": "9000"}


def test_a_job_that_names_no_cluster_reads_that_of_the_settings() -> None:
    chosen = job_settings(Settings(bootstrap="here:1"), read_spec(job_properties("g", ROUTES), {}))
    assert chosen.bootstrap == "here:1"
