"""The events pipeline, from JSON to an Avro topic, to Parquet and to Delta, run once for all tests of this file."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest
from confluent_kafka import Producer as BareProducer
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.kafka.options import client_options
from penstock.kafka.topics import ensure_topic
from penstock.schemas import AvroCodec, connect_registry
from tests.conftest import RunCommand, Running
from tests.integration.conftest import Fill
from tests.pipeline_files import (
    EVENT_SCHEMA,
    PipelineFiles,
    event,
    headers_of,
    kafka_sink,
    kafka_source,
    lake_sink,
    sql,
)

GOOD = 40
NAME = f"events-{uuid.uuid4().hex[:8]}"
BAD = [
    (b"not JSON", "record.undecodable"),
    (b'{"Event_Type": "Click"}', "record.invalid"),
    (event(1, User_ID=7), "record.invalid"),
]


@dataclass(frozen=True)
class Ran:
    files: PipelineFiles
    topic: str


@pytest.fixture(scope="module")
def ran(spark: SparkSession, stack: Running, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    files = PipelineFiles(spark, stack.settings, tmp_path_factory.mktemp("events"))
    ensure_topic(stack.settings, NAME, partitions=2)
    producer = BareProducer(client_options(stack.settings))
    for number in range(GOOD):
        producer.produce(NAME, event(number), partition=number % 2, headers={"app": b"shop"})
    for value, _ in BAD:
        producer.produce(NAME, value, key=b"own key", partition=0, headers={"app": b"shop"})
    producer.flush(30)
    path = files.write(
        NAME,
        owner="team events",
        source=kafka_source(NAME, format="json", schema=str(EVENT_SCHEMA)),
        transform=[sql("SELECT *, substring(Server_Time, 1, 10) AS Server_Date FROM source")],
        sinks=[
            kafka_sink(f"{NAME}-avro", key="User_ID", partitions=3),
            lake_sink("parquet", partition_by=["Event_Type", "Server_Date"]),
            lake_sink("delta", format="delta", partition_by=["Event_Type"]),
        ],
    )
    assert files.run(path) == {}
    return Ran(files, NAME)


def test_the_avro_topic_has_every_good_event_with_its_key_and_origin(ran: Ran) -> None:
    records, codec = ran.files.records(f"{NAME}-avro"), AvroCodec(connect_registry(ran.files.settings))
    events: list[Any] = [codec.decode(record.value) for record in records]
    assert {event["User_ID"] for event in events} == {f"u-{number}" for number in range(GOOD)}
    assert [record.key.decode() for record in records] == [event["User_ID"] for event in events]
    assert {event["Server_Date"] for event in events} == {"2026-03-01", "2026-03-02"}
    origins = [headers_of(record)["penstock.origin"] for record in records]
    assert sorted(origins) == sorted(f"{NAME}/{number % 2}/{number // 2}" for number in range(GOOD))
    assert {headers_of(record)["app"] for record in records} == {"shop"}


def test_the_avro_topic_was_made_as_asked_and_its_schema_registered(ran: Ran) -> None:
    admin = AdminClient(client_options(ran.files.settings))
    assert len(admin.list_topics(f"{NAME}-avro").topics[f"{NAME}-avro"].partitions) == 3
    schema = connect_registry(ran.files.settings).by_version(f"{NAME}-avro-value", "latest").schema
    fields = [field["name"] for field in json.loads(schema.text)["fields"]]
    assert fields[-1] == "Server_Date"


def test_the_parquet_table_has_each_good_event_once_in_its_folder(ran: Ran) -> None:
    glob = f"{ran.files.lake}/parquet/Event_Type=*/Server_Date=*/*.parquet"
    found = duckdb.read_parquet(glob, hive_partitioning=True).project("User_ID, Event_Type").fetchall()
    assert sorted(found) == sorted((f"u-{n}", ("ListingView", "Click")[n % 2]) for n in range(GOOD))


def test_the_delta_table_has_each_good_event_once(ran: Ran) -> None:
    table = DeltaTable(str(ran.files.lake / "delta"))
    assert sorted(table.to_pyarrow_table()["User_ID"].to_pylist()) == sorted(f"u-{n}" for n in range(GOOD))
    assert table.metadata().partition_columns == ["Event_Type"]


def test_what_was_refused_is_kept_with_its_reason(ran: Ran) -> None:
    letters = {record.value: record for record in ran.files.records(f"{NAME}.dead")}
    assert set(letters) == {value for value, _ in BAD}
    for value, code in BAD:
        headers = headers_of(letters[value])
        assert letters[value].key == b"own key"
        assert headers["app"] == "shop"
        assert headers["penstock.error.code"] == code
        assert headers["penstock.pipeline"] == NAME
        assert headers["penstock.origin"].startswith(f"{NAME}/0/")
    assert "User_ID" in headers_of(letters[BAD[2][0]])["penstock.error.message"]


def test_the_group_of_the_pipelines_name_shows_its_progress(ran: Ran, run_command: RunCommand) -> None:
    shown = run_command("groups", "show", ran.topic, "--json")
    assert shown.code == 0
    assert json.loads(shown.out)["lag"] == 0


def test_the_last_heartbeat_of_each_query_tells_how_it_ended(ran: Ran) -> None:
    beats = {record.key.decode(): json.loads(record.value) for record in ran.files.records("penstock.heartbeats")}
    for sink in (f"kafka-{NAME}-avro", "lake-parquet", "lake-delta"):
        beat = beats[f"{NAME}.{sink}"]
        assert (beat["stage"], beat["lag"], beat["owner"]) == ("finished", 0, "team events")
        assert (beat["read"], beat["refused"]) == (GOOD + len(BAD), len(BAD))


def test_a_second_run_goes_on_where_the_first_ended(ran: Ran, fill: Fill) -> None:
    fill(ran.topic, [event(GOOD)], partition=0)
    assert ran.files.run(ran.files.directory / f"{NAME}.yaml") == {}
    assert len(ran.files.records(f"{NAME}-avro")) == GOOD + 1
    assert len(DeltaTable(str(ran.files.lake / "delta")).to_pyarrow_table()) == GOOD + 1
