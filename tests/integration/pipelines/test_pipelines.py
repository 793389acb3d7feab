"""Transforms, failure modes, and several files in one driver."""

from __future__ import annotations

import base64
import json
import os
import threading

import pytest

from penstock.errors import ConfigError, Problem, RecordInvalid
from penstock.kafka.producer import Producer
from penstock.pipelines.driver import Driver
from tests.integration.conftest import CreateTopic, Fill
from tests.pipeline_files import PipelineFiles, kafka_sink, kafka_source, sql

NUMBERS = "n INT NOT NULL, text STRING"
FUNCTIONS = """
from pyspark.sql import functions as F

def doubled(rows, by=2):
    return rows.withColumn("n", F.col("n") * by)

@F.udf("string")
def shouted(text):
    return text.upper() + "!"

def loud(rows):
    return rows.withColumn("text", shouted("text"))

def nothing(rows):
    return None

def broken(rows):
    raise ValueError("out of luck")
"""


def test_files_run_side_by_side_with_every_kind_of_transform(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill
) -> None:
    topic = create_topic()
    fill(topic, [b'{"n": %d, "text": "t"}' % number for number in range(4)])
    (files.directory / "of_mine.py").write_text(FUNCTIONS)
    source = kafka_source(topic, format="json", schema=NUMBERS)
    chain = [
        {"type": "filter", "config": {"condition": "n > 1"}},
        {"type": "python", "config": {"function": "of_mine:doubled", "arguments": {"by": 10}}},
        _python("of_mine:loud"),
        {"type": "rename", "config": {"columns": {"text": "word"}}},
        {"type": "select", "config": {"columns": ["n", "lower(word) AS word", "1 AS one"]}},
        {"type": "drop", "config": {"columns": ["one"]}},
    ]
    one = files.write(f"{topic}-1", source=source, transform=chain, sinks=[kafka_sink(f"{topic}-a", format="json")])
    other = sql("SELECT count(*) AS many FROM source")
    two = files.write(f"{topic}-2", source=source, transform=[other], sinks=[kafka_sink(f"{topic}-b", format="json")])
    assert files.run(one, two) == {}
    records = files.records(f"{topic}-a")
    assert [record.value for record in records] == [b'{"n":20,"word":"t!"}', b'{"n":30,"word":"t!"}']
    assert [value for name, value in records[0].headers if name == "penstock.origin"] == [f"{topic}/0/2".encode()]
    assert [record.value for record in files.records(f"{topic}-b")] == [b'{"many":4}']


def test_throw_stops_before_a_bad_record_and_a_restart_meets_it_again(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill
) -> None:
    topic = create_topic()
    fill(topic, [b'{"n": 1}'])
    path = files.write(
        topic,
        source=kafka_source(topic, format="json", schema=NUMBERS),
        sinks=[kafka_sink(f"{topic}-out", format="json")],
        options={"failure_mode": "THROW"},
    )
    assert files.run(path) == {}
    fill(topic, [b'{"n": "one"}', b'{"n": 2}'])
    for _ in range(2):
        ((_, failure),) = files.run(path).items()
        assert isinstance(failure, RecordInvalid)
        assert f"{topic}/0/1" in failure.message
    assert [record.value for record in files.records(f"{topic}-out")] == [b'{"n":1}']
    assert files.records(f"{topic}.dead") == []


def test_a_record_on_which_a_transform_fails_is_a_dead_letter(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill
) -> None:
    topic = create_topic()
    fill(topic, [b'{"n": 1}', b'{"n": 0}', b'{"n": 2}'])
    path = files.write(
        topic,
        source=kafka_source(topic, format="json", schema=NUMBERS),
        transform=[sql("SELECT 10 / n AS share FROM source")],
        sinks=[kafka_sink(f"{topic}-out", format="json")],
        options={"dead_letters": f"{topic}-refused"},
    )
    assert files.run(path) == {}
    assert {record.value for record in files.records(f"{topic}-out")} == {b'{"share":10.0}', b'{"share":5.0}'}
    (letter,) = files.records(f"{topic}-refused")
    assert letter.value == b'{"n": 0}'
    assert dict(letter.headers)["penstock.error.code"] == b"record.transform"


def test_a_value_on_which_java_fails_is_a_dead_letter(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill
) -> None:
    topic = create_topic()
    bad = [b'{"n": 1, "text": "1e2147483647"}', b'{"n": 9223372036854775807, "text": "1"}']
    fill(topic, [*bad, b'{"n": 2, "text": "1.25"}'])
    query = "SELECT unix_millis(timestamp_millis(n)) AS n, CAST(text AS DECIMAL(10,2)) AS price FROM source"
    path = files.write(
        topic,
        source=kafka_source(topic, format="json", schema="n BIGINT, text STRING"),
        transform=[sql(query)],
        sinks=[kafka_sink(f"{topic}-out", format="json")],
    )
    assert files.run(path) == {}
    assert [record.value for record in files.records(f"{topic}-out")] == [b'{"n":2,"price":1.25}']
    assert [letter.value for letter in files.records(f"{topic}.dead")] == bad


def test_a_large_message_goes_where_the_topic_takes_it_and_is_a_dead_letter_elsewhere(
    files: PipelineFiles, create_topic: CreateTopic
) -> None:
    topic, large = create_topic(max_message_bytes="20000000"), "20000000"
    create_topic(name=f"{topic}-wide", max_message_bytes=large)
    text = base64.b64encode(os.urandom(3_750_000)).decode()
    values = [json.dumps({"n": number, "text": text if number == 1 else "x"}).encode() for number in range(3)]
    with Producer(topic, serializer=bytes, settings=files.settings, options={"message.max.bytes": large}) as producer:
        for value in values:
            producer.send(value)
    sinks = [kafka_sink(f"{topic}-{name}", format="json") for name in ("wide", "narrow")]
    path = files.write(topic, source=kafka_source(topic, format="json", schema=NUMBERS), sinks=sinks)
    assert files.run(path) == {}
    wide, narrow = ({record.value for record in files.records(f"{topic}-{name}")} for name in ("wide", "narrow"))
    assert sorted(map(len, wide)) == [18, 18, 5_000_017]
    assert narrow == {b'{"n":0,"text":"x"}', b'{"n":2,"text":"x"}'}
    (letter,) = files.records(f"{topic}.dead")
    assert letter.value == values[1]
    told = dict(letter.headers)
    assert (told["penstock.error.code"], told["penstock.origin"]) == (b"record.too_large", f"{topic}/0/1".encode())
    assert f"topic {topic}-narrow allows 1,048,588" in (told["penstock.error.message"] or b"").decode()


def test_an_invalid_message_next_to_a_record_that_is_too_large_is_a_dead_letter_too(
    files: PipelineFiles, create_topic: CreateTopic
) -> None:
    topic, large = create_topic(max_message_bytes="20000000"), "20000000"
    text = base64.b64encode(os.urandom(3_750_000)).decode()
    values = [b"invalid", b'{"n":1,"text":"x"}', json.dumps({"n": 2, "text": text}).encode(), b'{"n":"three"}']
    with Producer(topic, serializer=bytes, settings=files.settings, options={"message.max.bytes": large}) as producer:
        for value in values:
            producer.send(value)
    sinks = [kafka_sink(f"{topic}-narrow", format="json")]
    path = files.write(topic, source=kafka_source(topic, format="json", schema=NUMBERS), sinks=sinks)
    assert files.run(path) == {}
    assert {record.value for record in files.records(f"{topic}-narrow")} == {values[1]}
    origins = sorted(str(dict(letter.headers)["penstock.origin"]) for letter in files.records(f"{topic}.dead"))
    assert origins == [f"b'{topic}/0/{offset}'" for offset in (0, 2, 3)]


def test_check_finds_the_mistakes_that_only_spark_and_the_cluster_know(
    files: PipelineFiles, create_topic: CreateTopic, topic: str
) -> None:
    create_topic()
    (files.directory / "of_mine.py").write_text(FUNCTIONS)
    source = kafka_source(topic, format="json", schema=NUMBERS)
    columns = [
        {"type": "kafka", "config": {"topic": f"{topic}-out", "key": "nn"}},
        {"type": "lake", "config": {"table": "t", "partition_by": ["day"]}},
    ]
    plain = [kafka_sink(f"{topic}-out")]
    wrong = [
        files.write("topic", source=kafka_source(f"{topic}x", format="raw"), sinks=plain),
        files.write("ddl", source=kafka_source(topic, format="json", schema="n INTT NOT NULL"), sinks=plain),
        files.write("avro", source=kafka_source(topic, format="avro"), sinks=plain),
        files.write("sql", source=source, transform=[sql("SELECT nope FROM source")], sinks=plain),
        files.write("none", source=source, transform=[_python("of_mine:nothing")], sinks=plain),
        files.write("raises", source=source, transform=[_python("of_mine:broken")], sinks=plain),
        files.write("absent", source=source, transform=[_python("of_mine:missing")], sinks=plain),
        files.write("columns", source=source, sinks=columns),
    ]
    with pytest.raises(ConfigError) as refused:
        files.driver(*wrong).check()
    said = [str(problem).removeprefix(f"{files.directory}/") for problem in refused.value.problems]
    expected = [
        ("topic.yaml:", "source.config.topic: there is no topic", f"did you mean {topic}?"),
        ("ddl.yaml:", "source.config.schema: ", "INTT"),
        ("avro.yaml:", "source.config.schema: the registry has no schema under", f"{topic}-value"),
        ("sql.yaml:", "transform.0.config: ", "nope"),
        ("none.yaml:", "transform.0.config: of_mine:nothing gives NoneType, not a DataFrame", ""),
        ("raises.yaml:", "transform.0.config: of_mine:broken: ValueError: out of luck", ""),
        ("absent.yaml:", "transform.0.config: module of_mine has no function missing", ""),
        ("columns.yaml:", "sinks.0.config.key: there is no column nn (did you mean n?)", ""),
        ("columns.yaml:", "sinks.1.config.partition_by.0: there is no column day", "n, text"),
    ]
    assert len(said) == len(expected), said
    for line, parts in zip(said, expected, strict=True):
        assert all(part in line for part in parts), (line, parts)


def test_a_missing_topic_or_a_wrong_transform_hides_no_other_mistake(
    files: PipelineFiles, create_topic: CreateTopic, topic: str
) -> None:
    create_topic()
    (files.directory / "of_mine.py").write_text(FUNCTIONS)
    missing = f"{topic}x"
    wrong_sql, absent = sql("SELECT nope FROM source"), _python("of_mine:missing")
    no_file, wrong_key = kafka_sink(f"{topic}-out", schema="no.avsc"), kafka_sink(f"{topic}-out", key="kee")
    json = kafka_source(missing, format="json", schema=NUMBERS)
    several = {"type": "kafka", "config": {"topics": [topic, missing], "format": "debezium"}}
    table = {"type": "lake", "config": {"table": "{table}", "mode": "mirror"}}
    wrong = [
        files.write("json", source=json, transform=[wrong_sql, absent], sinks=[no_file]),
        files.write("raw", source=kafka_source(missing, format="raw"), sinks=[wrong_key]),
        files.write("avro", source=kafka_source(missing, format="avro"), sinks=[no_file]),
        files.write("changes", source=several, sinks=[table]),
    ]
    with pytest.raises(ConfigError) as refused:
        files.driver(*wrong).check()
    said = [str(problem).removeprefix(f"{files.directory}/") for problem in refused.value.problems]
    expected = [
        ("json.yaml:", "source.config.topic: there is no topic"),
        ("json.yaml:", "transform.0.config: "),
        ("json.yaml:", "transform.1.config: module of_mine has no function missing"),
        ("json.yaml:", "sinks.0.config: "),
        ("raw.yaml:", "source.config.topic: there is no topic"),
        ("raw.yaml:", "sinks.0.config.key: there is no column kee (did you mean key?)"),
        ("avro.yaml:", "source.config.topic: there is no topic"),
        ("avro.yaml:", "sinks.0.config: "),
        ("changes.yaml:", "source.config: there is no topic"),
    ]
    assert len(said) == len(expected), said
    for line, parts in zip(said, expected, strict=True):
        assert all(part in line for part in parts), (line, parts)


def test_check_compares_with_the_registry_and_the_table(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill
) -> None:
    topic = create_topic()
    fill(topic, [b'{"n": 1}'])
    source = kafka_source(topic, format="json", schema=NUMBERS)
    sinks = [kafka_sink(f"{topic}-out"), {"type": "lake", "config": {"table": "t"}}]
    assert files.run(files.write(topic, source=source, sinks=sinks)) == {}
    changed = files.write(topic, source=source, transform=[sql("SELECT text AS n FROM source")], sinks=sinks)
    with pytest.raises(ConfigError) as refused:
        files.driver(changed).check()
    registry, table = (str(problem) for problem in refused.value.problems)
    assert "sinks.0.config: the rows' schema may not follow the versions of" in registry
    assert "sinks.1.config: table t cannot take these rows: column n is int" in table


def test_check_compares_the_rows_with_the_schema_that_a_topic_is_given(
    files: PipelineFiles, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    (files.directory / "n.avsc").write_text(
        '{"type": "record", "name": "N", "fields": [{"name": "n", "type": "string"}]}'
    )
    source = kafka_source(topic, format="json", schema=NUMBERS)
    sinks = [kafka_sink(f"{topic}-out", schema="n.avsc")]
    said = []
    for query in ("SELECT * FROM source", "SELECT n FROM source", "SELECT CAST(n AS STRING) AS n FROM source"):
        file = files.write(topic, source=source, transform=[sql(query)], sinks=sinks)
        said.append([str(problem) for problem in _mistakes(files.driver(file))])
    assert "sinks.0.config: writing rows by the given schema" in said[0][0]
    assert "Cannot find field 'text' in Avro schema" in said[0][0]
    assert 'sqlType = INT, avroType = "string"' in said[1][0]
    assert said[2] == []


def _mistakes(driver: Driver) -> list[Problem]:
    try:
        driver.check()
    except ConfigError as error:
        return error.problems
    return []


def test_what_is_refused_behind_a_limit_is_kept(files: PipelineFiles, create_topic: CreateTopic, fill: Fill) -> None:
    topic = create_topic()
    fill(topic, [*(b'{"n": %d}' % number for number in range(5000)), b"bad"])
    path = files.write(
        topic,
        source=kafka_source(topic, format="json", schema=NUMBERS),
        transform=[sql("SELECT * FROM source LIMIT 2")],
        sinks=[kafka_sink(f"{topic}-out")],
    )
    assert files.driver(path).runner().run(threading.Event()) == {}
    assert [record.value for record in files.records(f"{topic}.dead")] == [b"bad"]


def test_a_console_counts_and_keeps_what_it_does_not_show(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = create_topic()
    fill(topic, [*(b'{"n": %d}' % number for number in (1, 2, 3, 4, 0, 5)), b"bad"])
    path = files.write(
        topic,
        source=kafka_source(topic, format="json", schema=NUMBERS),
        transform=[sql("SELECT 60 / n AS share FROM source")],
        sinks=[{"type": "console", "config": {"rows": 2}}],
    )
    runner = files.driver(path).runner()
    assert runner.run(threading.Event()) == {}
    [(vitals, _)] = runner.vitals()
    assert (vitals.read, vitals.refused) == (7, 2)
    assert {record.value for record in files.records(f"{topic}.dead")} == {b'{"n": 0}', b"bad"}
    assert "only showing top 2 rows" in capfd.readouterr().out


def _python(function: str) -> dict[str, object]:
    return {"type": "python", "config": {"function": function}}
