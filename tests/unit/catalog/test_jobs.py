from __future__ import annotations

from pathlib import Path

import pytest

from penstock.catalog.jobs.properties_file import read_properties
from penstock.catalog.jobs.spec import PRODUCER_NOTE, SCHEDULE_NOTE, WORKER_NOTE, ZOOKEEPER_NOTE, Route, read_spec
from penstock.catalog.processors import PROCESSORS, find_processor, make_processor
from penstock.catalog.processors.base import Processor
from penstock.catalog.staging.tables import TableName
from penstock.errors import ConfigError, UsageError

GIVEN = {
    "group.id": "wherehows",
    "schemaRegistryUrl": "http://registry:8081",
    "kafka.topics": "a, b",
    "kafka.processors": "GobblinTrackingCompactionProcessor, MetastoreAuditProcessor",
    "kafka.db.tables": "stg_kafka_gobblin_compaction , stg_kafka_metastore_audit",
}

HALF = """
from penstock.catalog.processors.base import RecordProcessor
class Unfinished(RecordProcessor):
    columns = ("a",)
"""
NEEDY = """
from penstock.catalog.processors.base import Processor
class Needy(Processor):
    def __init__(self, clusters):
        raise KeyError("nowhere")
    def transform(self, records): ...
"""


def problems(**changes: str | None) -> list[str]:
    named = {key.replace("_", "."): value for key, value in changes.items()}
    given = {key: value for key, value in {**GIVEN, **named}.items() if value is not None}
    with pytest.raises(ConfigError) as raised:
        read_spec(given, {})
    return [str(problem) for problem in raised.value.problems]


def test_topics_processors_and_tables_are_matched_by_position() -> None:
    spec = read_spec(GIVEN, {})
    assert spec.routes == (
        Route("a", "GobblinTrackingCompactionProcessor", TableName("stg_kafka_gobblin_compaction")),
        Route("b", "MetastoreAuditProcessor", TableName("stg_kafka_metastore_audit")),
    )
    assert (spec.group, spec.registry, spec.trigger_ms, spec.id_type, spec.start) == (
        *("wherehows", "http://registry:8081", 1000, "any"),
        "earliest",
    )


def test_what_kafka_needs_is_passed_on_and_zookeeper_is_told_off() -> None:
    more = {"zookeeper.connect": "zk:2181", "job.class": "x", "sasl.password": "secret", "auto.offset.reset": "largest"}
    spec = read_spec({**GIVEN, **more, "consumer.fetch.min.bytes": "1", "auto.commit.interval.ms": "250"}, {})
    assert dict(spec.kafka) == {"sasl.password": "secret", "fetch.min.bytes": "1"}
    assert "secret" not in repr(spec)
    assert spec.notes == (ZOOKEEPER_NOTE, SCHEDULE_NOTE)
    assert (spec.start, spec.trigger_ms) == ("latest", 250)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"group_id": None}, "group.id is missing"),
        ({"kafka_topics": "a"}, "the lists differ in length: kafka.topics has 1, kafka.processors has 2"),
        ({"kafka_topics": "a,"}, "kafka.topics has an empty element"),
        ({"kafka_topics": "a,a"}, "a topic is named twice"),
        ({"kafka_topics": "a,b c"}, "'b c' is no name of a topic"),
        ({"kafka_topicz": "a"}, "kafka.topicz is not a property of a job (did you mean kafka.topics?)"),
        ({"auto_commit_interval_ms": "soon"}, "'soon' is no number of milliseconds"),
        ({"schema_id_type": "md5"}, "'md5' is no type of schema ids"),
        ({"auto_offset_reset": "middle"}, "'middle' is no place to start"),
        ({"schemaRegistryUrl": "${NOWHERE}"}, "the environment has no NOWHERE"),
    ],
)
def test_each_mistake_is_told(changes: dict[str, str | None], told: str) -> None:
    assert any(told in problem for problem in problems(**changes))


def test_all_mistakes_are_told_at_once() -> None:
    assert len(problems(group_id=None, schema_id_type="md5", kafka_topics="a")) == 3


SECOND = {
    "job.class": "wherehows.KafkaConsumer",
    "kafka.consumer.topic": "MetadataChangeEvent",
    "kafka.processor": "wherehows.ingestion.processors.MetadataChangeProcessor",
    "kafka.producer.topic": "FailedMetadataChangeEvent",
    "kafka.worker.count": "2",
    "consumer.group.id": "mce",
    "consumer.schema.registry.url": "${URL}",
    "consumer.auto.offset.reset": "latest",
    "consumer.max.poll.records": "100",
    "producer.acks": "all",
}


def test_a_later_job_file_names_one_topic_and_no_table() -> None:
    spec = read_spec(SECOND, {"URL": "http://registry:8081"})
    route = Route("MetadataChangeEvent", SECOND["kafka.processor"], TableName("stg_kafka_metadata_change"))
    assert (spec.routes, spec.group, spec.registry, spec.start) == ((route,), "mce", "http://registry:8081", "latest")
    assert dict(spec.kafka) == {"max.poll.records": "100"}
    assert spec.notes == (SCHEDULE_NOTE, PRODUCER_NOTE, WORKER_NOTE)


def test_a_mistake_in_a_later_job_file_is_told_where_it_is_written() -> None:
    with pytest.raises(ConfigError) as raised:
        read_spec({**SECOND, "kafka.consumer.topic": "a b", "kafka.processor": "own:Processor"}, {"URL": "http://x"})
    assert [problem.place for problem in raised.value.problems] == ["kafka.db.tables", "kafka.consumer.topic"]


@pytest.mark.parametrize("written", ["$URL", "${URL}"])
def test_a_value_may_come_from_the_environment(written: str) -> None:
    assert read_spec({**GIVEN, "schemaRegistryUrl": written}, {"URL": "http://x"}).registry == "http://x"


def test_a_properties_file_is_read_as_java_does(tmp_path: Path) -> None:
    file = tmp_path / "a.job"
    file.write_text("# comment\n! too\n a = 1 \nb:2\nc 3\nlong=x,\\\n   y\nsign=\\u0041\\t\\=\nempty=\n")
    found = read_properties(file)
    assert found.values == {"a": "1", "b": "2", "c": "3", "long": "x,y", "sign": "A\t=", "empty": ""}
    assert (found.place("long"), found.place("none")) == (f"{file}:6", f"{file}:1")


def test_lines_that_are_no_properties_are_told_with_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "a.job"
    file.write_text("good=1\nnonsense\ngood=2\n")
    with pytest.raises(ConfigError) as raised:
        read_properties(file)
    assert [problem.place for problem in raised.value.problems] == [f"{file}:2", f"{file}:3"]


@pytest.mark.parametrize("name", PROCESSORS)
def test_every_built_in_processor_is_found_with_and_without_its_package(name: str) -> None:
    assert issubclass(find_processor(name), Processor)
    assert find_processor(f"metadata.etl.kafka.{name}") is find_processor(name)
    assert find_processor(name).columns


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("GobblinTrackingCompactionProcesor", "there is no processor"),
        ("nowhere:Thing", "there is no processor nowhere:Thing"),
        ("json:Thing", "there is no processor"),
        ("json:JSONDecoder", "is no processor"),
        (":Thing", "the processor :Thing cannot be imported: ValueError: Empty module name"),
        (".thing:Thing", "the processor .thing:Thing cannot be imported: TypeError"),
        ("garbled:Thing", "the processor garbled:Thing cannot be imported: SyntaxError"),
        ("unready:Thing", "the processor unready:Thing cannot be imported: ZeroDivisionError"),
        ("half:Unfinished", "half:Unfinished lacks process"),
    ],
)
def test_a_processor_that_is_not_there_or_not_whole_is_told(
    name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "garbled.py").write_text("class Thing(")
    (tmp_path / "unready.py").write_text("1 / 0")
    (tmp_path / "half.py").write_text(HALF)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=told):
        find_processor(name)


def test_a_processor_whose_own_code_fails_as_it_is_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needy.py").write_text(NEEDY)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="the processor needy:Needy cannot be made: KeyError: 'nowhere'"):
        make_processor("needy:Needy", ())
