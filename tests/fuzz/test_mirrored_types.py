"""Random types, names, values and changes of columns go from PostgreSQL through Debezium and Spark into mirrors.

Both sides are compared by plain queries of all values as text; nothing that made the mirror takes part.
"""

from __future__ import annotations

import random
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import psycopg
import pytest
from psycopg import sql
from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.connect.captures import add_capture, remove_capture, wait_until_streaming
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.debezium import Capture
from penstock.kafka.admin import Admin
from penstock.kafka.topic_state import list_topics
from tests.cdc_fixtures import MakeDatabase, run
from tests.fuzz.budget import IS_LONG, fuzz
from tests.fuzz.mirrored_tables import FuzzedTable
from tests.pipeline_files import PipelineFiles, lake_sink

Rows = list[tuple[str | None, ...]]
TABLES = 8 if IS_LONG else 3
BATCHES = 4 if IS_LONG else 1
STEPS = 24 if IS_LONG else 15
_SECONDS = 60


@pytest.mark.timeout(600)
@hypothesis.settings(fuzz(1, 60), phases=[hypothesis.Phase.generate])
@hypothesis.given(seed=st.integers(0, 2**32))
def test_a_mirror_has_the_rows_of_its_table_whatever_types_names_and_values_it_has(
    spark: SparkSession, capturing: Settings, make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory,
    seed: int,
) -> None:  # fmt: skip
    chance, name = random.Random(seed), f"fuzz{uuid.uuid4().hex[:8]}"  # noqa: S311 - any tables will do, if repeatable
    url, tables = make_database("CREATE TABLE marks (n int PRIMARY KEY)"), _tables(chance)
    with psycopg.connect(url, autocommit=True) as connection:
        for table in tables:
            table.create(connection)
    lake = PipelineFiles(spark, capturing, tmp_path_factory.mktemp("fuzzed"))
    source = {"type": "kafka", "config": {"pattern": f"{name}\\.public\\.t", "format": "debezium"}}
    file = lake.write(name, source=source, sinks=[lake_sink("{table}", mode="mirror")])
    with ConnectClient(capturing) as client:
        add_capture(client, capturing, Capture(ConnectorName(name), ("public.*",)), url, {"poll.interval.ms": "50"})
        try:
            wait_until_streaming(client, ConnectorName(name), url, 100)
            for batch in range(BATCHES + 1):
                _sent(capturing, url, name, batch)
                assert lake.run(file) == {}
                assert {each.name: _mirrored(spark, lake.lake, each) for each in tables} == {
                    each.name: _stored(url, each) for each in tables
                }
                with psycopg.connect(url, autocommit=True) as connection:
                    for table in tables if batch < BATCHES else ():
                        table.work(connection, STEPS)
        finally:
            remove_capture(client, ConnectorName(name), None, 30)


def _tables(chance: random.Random) -> list[FuzzedTable]:
    return [FuzzedTable(f"t{number}", chance) for number in range(TABLES)]


def _sent(settings: Settings, url: str, name: str, batch: int) -> None:
    """Wait until everything up to now is in Kafka: changes are sent in the order of their commits."""
    run(url, f"INSERT INTO marks VALUES ({batch})")  # noqa: S608 - a number
    deadline = time.monotonic() + _SECONDS
    with Admin(settings) as admin:
        while sum(each.records for each in list_topics(admin) if each.name == f"{name}.public.marks") <= batch:
            assert time.monotonic() < deadline, "changes do not reach Kafka"
            time.sleep(0.1)


def _stored(url: str, table: FuzzedTable) -> Rows:
    """The rows of the database, as text."""
    columns = {**table.keys, **table.columns}
    shown = [_in_database(name, kind) for name, kind in columns.items()]
    query = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(shown), sql.Identifier(table.name))
    with psycopg.connect(url, options="-c TimeZone=UTC") as connection:
        found = connection.execute(query).fetchall()
    return _formed(found, [*columns.values()])


def _in_database(name: str, kind: str) -> sql.Composable:
    shown = {"bytea": "encode({}, 'hex')", "inet": "abbrev({})"}.get(kind, "{}::text")
    return sql.SQL("to_json({})::text" if kind.endswith("[]") else shown).format(sql.Identifier(name))


def _mirrored(spark: SparkSession, lake: Path, table: FuzzedTable) -> Rows:
    """The rows of the lake, as text."""
    rows = spark.read.format("delta").load(str(lake / table.name))
    columns = {**table.keys, **table.columns}
    kinds = {field.name: field.dataType.typeName() for field in rows.schema.fields}
    shown = [_in_lake(re.sub(r"[ ,;{}()\n\t=]", "_", name), kinds) for name in columns]
    return _formed([tuple(row) for row in rows.selectExpr(*shown).collect()], [*columns.values()])


def _in_lake(name: str, kinds: Mapping[str, str]) -> str:
    """A value under its name, or under that of a type it had or has; else what its type has no room for."""
    names = [each for each in kinds if each == name or each.startswith(f"{name}__")]
    texts = [_text_in_lake(each, kinds[each]) for each in names]
    return f"coalesce({', '.join([*texts, f'_cdc.outside[{name!r}]'])})"


def _text_in_lake(name: str, kind: str) -> str:
    quoted = "`" + name.replace("`", "``") + "`"
    match kind:
        case "binary":
            return f"lower(hex({quoted}))"
        case "array":
            return f"to_json({quoted}, map('ignoreNullFields', 'false'))"
        case _:
            return f"cast({quoted} as string)"


def _formed(rows: Sequence[tuple[str | None, ...]], kinds: Sequence[str]) -> Rows:
    formed = [
        tuple(text if text is None else _form(text, kind) for text, kind in zip(row, kinds, strict=True))
        for row in rows
    ]
    return sorted(formed, key=repr)


def _form(text: str, kind: str) -> str:
    """One text of values that each side writes in its own way."""
    match kind:
        case "real" | "double precision":
            return repr(float(text))
        case "timestamp":
            return text.removeprefix("+")
        case "timestamptz":
            return text.removesuffix("+00")
        case "time":
            return text if "." in text else f"{text}.000000"
        case _ if kind.endswith("[]"):
            return text.replace(" ", "")
        case _:
            return text
