"""What can be read: Avro of all kinds, raw bytes, patterns, from a time on, so much at once."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

from penstock.kafka.producer import Producer
from penstock.schemas import IdWidth, Schema
from penstock.schemas.wire import header
from tests.integration.conftest import CreateTopic, Fill
from tests.pipeline_files import PipelineFiles, headers_of, kafka_sink, kafka_source, lake_sink, sql

OLD = '{"type": "record", "name": "Item", "fields": [{"name": "id", "type": "int"}]}'
NEW = '{"type": "record", "name": "Item", "fields": [{"name": "id", "type": "int"}, {"name": "size", "type": ["null", "string"], "default": null}]}'  # noqa: E501 - a schema in one line

PLACES = """
SELECT CAST(value AS STRING) AS text, _kafka.topic, _kafka.partition, _kafka.offset, CAST(key AS STRING) AS key,
       CAST(_kafka.headers[0].value AS STRING) AS h, unix_millis(_kafka.timestamp) AS at
FROM source
"""


def send(files: PipelineFiles, topic: str, schema: str, values: list[dict[str, object]], width: str = "int") -> None:
    settings = files.settings.model_copy(update={"schema_ids": width})
    with Producer(topic, schema=Schema.from_text(schema), settings=settings) as producer:
        for value in values:
            producer.send(value)


def test_avro_of_two_versions_and_three_id_widths_becomes_rows_of_the_newest(
    files: PipelineFiles, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    for number, width in enumerate(("int", "long", "uuid")):
        send(files, topic, OLD, [{"id": number}], width)
        send(files, topic, NEW, [{"id": number, "size": width}], width)
    path = files.write(
        topic, source=kafka_source(topic, format="avro"), sinks=[kafka_sink(f"{topic}-out", format="json")]
    )
    assert files.run(path) == {}
    values = sorted(record.value for record in files.records(f"{topic}-out"))
    assert values == sorted(
        [b'{"id":%d}' % number for number in range(3)]
        + [b'{"id":%d,"size":"%s"}' % (number, width) for number, width in enumerate((b"int", b"long", b"uuid"))]
    )


def test_a_schema_that_is_first_seen_while_running_is_learnt(files: PipelineFiles, create_topic: CreateTopic) -> None:
    topic = create_topic()
    send(files, topic, OLD, [{"id": 1}])
    out = kafka_sink(f"{topic}-out", format="json")
    path = files.write(topic, source=kafka_source(topic, format="avro"), sinks=[{**out, "trigger": "100 milliseconds"}])
    with files.running(path):
        wait_for(files, f"{topic}-out", 1)
        send(files, topic, NEW, [{"id": 2, "size": "large"}])
        wait_for(files, f"{topic}-out", 2)
    assert [record.value for record in files.records(f"{topic}-out")] == [b'{"id":1}', b'{"id":2,"size":"large"}']


def test_a_message_of_an_id_that_the_registry_does_not_know_is_a_dead_letter(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill
) -> None:
    topic = create_topic()
    send(files, topic, OLD, [{"id": 1}])
    unknown = header(2_000_000_000, IdWidth.INT) + b"\x02"
    fill(topic, [unknown])
    send(files, topic, OLD, [{"id": 2}])
    path = files.write(
        topic, source=kafka_source(topic, format="avro"), sinks=[kafka_sink(f"{topic}-out", format="json")]
    )
    assert files.run(path) == {}
    assert [record.value for record in files.records(f"{topic}-out")] == [b'{"id":1}', b'{"id":2}']
    (letter,) = files.records(f"{topic}.dead")
    told = headers_of(letter)
    assert (letter.value, told["penstock.error.code"]) == (unknown, "schema.not_found")
    assert told["penstock.origin"] == f"{topic}/0/1"


def test_a_named_reader_schema_decides_on_the_rows_form(files: PipelineFiles, create_topic: CreateTopic) -> None:
    topic = create_topic()
    send(files, topic, NEW, [{"id": 1, "size": "large"}])
    (files.directory / "old.avsc").write_text(OLD)
    source = kafka_source(topic, format="avro", schema="old.avsc")
    assert files.run(files.write(topic, source=source, sinks=[kafka_sink(f"{topic}-out", format="json")])) == {}
    assert [record.value for record in files.records(f"{topic}-out")] == [b'{"id":1}']


def test_raw_messages_of_a_pattern_come_with_their_place_as_columns(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill, topic: str
) -> None:
    for name in ("eu", "us"):
        create_topic(name=f"{topic}-{name}", retention_ms="-1")
        fill(f"{topic}-{name}", [name.encode()], key=b"k", headers={"h": b"v"}, timestamp=1_700_000_000_000)
    path = files.write(
        topic,
        source={"type": "kafka", "config": {"pattern": f"{topic}-(eu|us)", "format": "raw"}},
        transform=[sql(PLACES)],
        sinks=[kafka_sink(f"out-{topic}", format="json")],
    )
    assert files.run(path) == {}
    values = sorted(record.value.decode() for record in files.records(f"out-{topic}"))
    assert values == [
        f'{{"text":"{name}","topic":"{topic}-{name}","partition":0,"offset":0,"key":"k","h":"v","at":1700000000000}}'
        for name in ("eu", "us")
    ]


def test_reading_starts_at_a_time_and_takes_so_much_at_once(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill
) -> None:
    topic = create_topic(retention_ms="-1")
    fill(topic, [b"old"], timestamp=1_600_000_000_000)
    fill(topic, [b"1", b"2", b"3", b"4"], timestamp=1_700_000_000_000)
    start = datetime.fromtimestamp(1_650_000_000, UTC).isoformat()
    path = files.write(
        topic, source=kafka_source(topic, format="raw", start=start, max_records=2), sinks=[lake_sink("t")]
    )
    runner = files.driver(path).runner()
    assert runner.run(threading.Event()) == {}
    ((vitals, _),) = runner.vitals()
    assert (vitals.read, vitals.batches) == (4, 2)


def test_latest_begins_with_what_comes_after_the_first_start(
    files: PipelineFiles, create_topic: CreateTopic, fill: Fill
) -> None:
    topic = create_topic()
    fill(topic, [b"before"])
    path = files.write(
        topic,
        source=kafka_source(topic, format="raw", start="latest"),
        transform=[sql("SELECT CAST(value AS STRING) AS text FROM source")],
        sinks=[kafka_sink(f"{topic}-out", format="json")],
    )
    assert files.run(path) == {}
    fill(topic, [b"after"])
    assert files.run(path) == {}
    assert [record.value for record in files.records(f"{topic}-out")] == [b'{"text":"after"}']


def wait_for(files: PipelineFiles, topic: str, count: int, seconds: float = 90) -> None:
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        try:
            if len(files.records(topic)) >= count:
                return
        except LookupError:
            time.sleep(0.2)
    raise AssertionError(f"{topic} did not get {count} records")
