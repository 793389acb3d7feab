from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.catalog.database import Database
from penstock.catalog.jobs.roster import Roster
from penstock.config import Settings
from tests.conftest import RunCommand

JOB = """\
group.id=wherehows
schemaRegistryUrl=http://registry:8081
zookeeper.connect=zk:2181
sasl.password=geheim
kafka.topics=GobblinTrackingEvent,MetastoreTableAuditEvent
kafka.processors=metadata.etl.kafka.GobblinTrackingCompactionProcessor,MetastoreAuditProcessor
kafka.db.tables=stg_kafka_gobblin_compaction,stg_kafka_metastore_audit
"""


@pytest.fixture
def job_file(tmp_path: Path, catalog_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_DATABASE", catalog_settings.database.get_secret_value())
    file = tmp_path / "gobblin.job"
    file.write_text(JOB)
    return file


def test_a_job_is_imported_listed_shown_checked_and_removed(job_file: Path, run_command: RunCommand) -> None:
    imported = run_command("jobs", "import", job_file).lines
    assert imported[0].startswith("note zookeeper.* is not used: Kafka has no ZooKeeper any more")
    number = imported[1].split()[1]
    assert imported[1] == f"job {number} gobblin reads 2 topics"
    assert (
        f"{number} gobblin GobblinTrackingEvent,MetastoreTableAuditEvent active 1" in run_command("jobs", "list").lines
    )
    shown = run_command("jobs", "show", "gobblin")
    assert "group.id wherehows" in shown.lines
    assert "geheim" not in shown.out
    [listed] = json.loads(run_command("jobs", "list", "--json").out)
    assert (listed["name"], listed["properties"]["sasl.password"]) == ("gobblin", "********")
    assert f"job {number} gobblin is fit to run" in run_command("jobs", "check", number).lines
    assert run_command("jobs", "remove", number, "--yes").lines == [f"removed job {number} gobblin"]
    assert json.loads(run_command("jobs", "list", "--json").out) == []


def test_a_job_can_be_paused_and_resumed_and_stays_so_when_it_is_imported_again(
    job_file: Path, run_command: RunCommand, database: Database
) -> None:
    def active() -> list[str]:
        query_of: Any = lambda work: SimpleNamespace(name=work.name)  # noqa: E731 - a query that only has a name
        queries: list[Any] = list(Roster(database, [], query_of)())
        return [query.name for query in queries]

    assert run_command("jobs", "import", job_file).code == 0
    assert active() == ["gobblin", "gobblin"]
    assert run_command("jobs", "pause", "gobblin").out.endswith(" gobblin\n")
    job_file.write_text(JOB.replace("wherehows", "other"))
    assert run_command("jobs", "import", job_file).code == 0
    assert run_command("jobs", "list").lines[-1].endswith(" paused 2")
    assert active() == []
    assert run_command("jobs", "resume", "gobblin").out.startswith("resumed job ")
    assert active() == ["gobblin", "gobblin"]
    assert run_command("jobs", "pause", "99999").code == 1


def test_importing_again_changes_the_job_only_if_the_file_changed(job_file: Path, run_command: RunCommand) -> None:
    def revision() -> int:
        assert run_command("jobs", "import", job_file).code == 0
        [listed] = json.loads(run_command("jobs", "list", "--json").out)
        return int(listed["revision"])

    assert (revision(), revision()) == (1, 1)
    job_file.write_text(JOB.replace("wherehows", "other"))
    assert revision() == 2


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "MetastoreAuditProcessor",
            "MetastoreAuditProcesor",
            "7: there is no processor MetastoreAuditProcesor (did you",
        ),
        (
            ",stg_kafka_metastore_audit",
            ",stg_kafka_metastor_audit",
            "there is no table stg_kafka_metastor_audit (did you",
        ),
        ("stg_kafka_metastore_audit", "stg_kafka_gobblin_lumos", "lacks the columns server, instance, app_name"),
        (",stg_kafka_metastore_audit", "", "the lists differ in length"),
    ],
)
def test_a_job_that_could_not_run_is_not_imported(
    job_file: Path, run_command: RunCommand, old: str, new: str, told: str
) -> None:
    job_file.write_text(JOB.replace(old, new))
    ran = run_command("jobs", "import", job_file)
    assert ran.code == 2
    assert f"{job_file}:" in ran.err
    assert told.removeprefix("7: ") in ran.err
    assert json.loads(run_command("jobs", "list", "--json").out) == []


def test_a_job_whose_table_went_away_is_told(job_file: Path, run_command: RunCommand, database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("DROP TABLE IF EXISTS public.gone")
        connection.execute("CREATE TABLE public.gone (LIKE stg_kafka_gobblin_compaction INCLUDING INDEXES)")
    job_file.write_text(JOB.replace("stg_kafka_gobblin_compaction", "gone"))
    assert run_command("jobs", "import", job_file).code == 0
    with database.transaction() as connection:
        connection.execute("DROP TABLE public.gone")
    checked = run_command("jobs", "check", "gobblin", "--json")
    assert checked.code == 2
    [problem] = json.loads(checked.out)["problems"]
    assert problem["message"] == "there is no table gone"
    assert run_command("jobs", "check", "99999").code == 1


@pytest.mark.parametrize(
    ("key", "is_fit"),
    [
        ("UNIQUE (kafka_offset, kafka_topic, kafka_partition)", True),
        ("UNIQUE (kafka_topic, kafka_offset)", False),
        ("UNIQUE (kafka_topic, kafka_partition, kafka_offset, cluster)", False),
        ("UNIQUE (kafka_topic, kafka_partition, kafka_offset) DEFERRABLE", False),
        ("CHECK (true)", False),
    ],
)
def test_a_table_needs_a_unique_key_of_where_a_row_comes_from(
    job_file: Path, run_command: RunCommand, database: Database, key: str, is_fit: bool
) -> None:
    with database.transaction() as connection:
        connection.execute("DROP TABLE IF EXISTS public.keyed")
        connection.execute(f"CREATE TABLE public.keyed (LIKE stg_kafka_gobblin_compaction, {key})".encode())
    job_file.write_text(JOB.replace("stg_kafka_gobblin_compaction", "keyed"))
    ran = run_command("jobs", "import", job_file)
    told = "the table keyed has no unique key of kafka_topic, kafka_partition, kafka_offset"
    assert (ran.code, told in " ".join(ran.err.split())) == ((0, False) if is_fit else (2, True))
