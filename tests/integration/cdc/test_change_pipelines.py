"""A real database, through Debezium and Kafka, in the lake: as a log and as a mirror."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.connect.captures import add_capture, wait_until_streaming
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.debezium import Capture, ValueFormat
from penstock.connect.postgres import TableName
from penstock.kafka.admin import Admin
from penstock.kafka.topic_state import list_topics
from penstock.lake.lake import Lake as Lakehouse
from penstock.pipelines.verify.compare import verify
from tests.cdc_fixtures import MakeDatabase, run
from tests.conftest import RunCommand
from tests.pipeline_files import PipelineFiles, lake_sink

SHOP = (
    """CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, note text, balance numeric(10, 2),
       since timestamptz, tags text[])""",
    "CREATE TABLE orders (customer int, number int, at timestamp(3), PRIMARY KEY (customer, number))",
    """INSERT INTO customers SELECT n, 'c' || n, NULL, n * 1.25, '2026-01-01 12:00:00+02', '{a,b}'
       FROM generate_series(1, 5) n""",
    "INSERT INTO orders VALUES (1, 1, '2026-02-03 04:05:06.789'), (1, 2, NULL)",
)
CHANGES = (
    "UPDATE customers SET note = (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 300) n) WHERE id = 1",
    'ALTER TABLE customers RENAME note TO "Note"',
    "UPDATE customers SET name = 'Ada' WHERE id = 1",
    "UPDATE customers SET id = 50 WHERE id = 5",
    "UPDATE customers SET id = 10 WHERE id = 1",
    "DELETE FROM customers WHERE id = 2",
    "ALTER TABLE customers ADD COLUMN vip boolean",
    "INSERT INTO customers (id, name, balance, vip) VALUES (6, 'new', 'NaN', true)",
    "TRUNCATE orders; INSERT INTO orders VALUES (7, 7, '2026-02-03 04:05:06.789')",
)
CUSTOMERS = "id, name, md5(note) AS note, since, vip"
IN_DATABASE = """SELECT id, name, md5("Note"), since AT TIME ZONE 'UTC', vip FROM customers ORDER BY 1"""


FORMS = (
    """CREATE TABLE forms ("form (no.)" int PRIMARY KEY, far timestamp, zoned timestamptz, day date, "unit price" money,
       span interval, address inet, network cidr, card macaddr, bits bit(12), flag bit(1), addresses inet[])""",
    """INSERT INTO forms VALUES (1, '12026-05-06 07:08:09.5', '9999-05-06 07:08:09.5+00', '9999-12-31', -1234.5,
       '1 year 2 months -3 days 04:05:06.7', '10.0.0.1', '10.0.0.0/8', '08:00:2b:01:02:03', B'000110101010', B'1',
       '{10.0.0.1,::1}')""",
)
MORE_FORMS = """
INSERT INTO forms SELECT 2, far, zoned, day, 0, '-00:00:00.5', '::1/64', '::/0', card, ~bits, ~flag, '{}' FROM forms
"""


class Lake(PipelineFiles):
    """The pipelines' files and the lake that they write to."""

    def table(self, name: str, columns: str, where: str = "true", order: str = "1") -> list[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM delta.`{self.lake}/{name}` WHERE {where} ORDER BY {order}"  # noqa: S608 - constants
        return [tuple(row) for row in self._spark.sql(query).collect()]

    def spoil(self, statement: str, name: str) -> None:
        self._spark.sql(statement.format(f"delta.`{self.lake}/{name}`"))


@pytest.fixture
def lake(spark: SparkSession, capturing: Settings, tmp_path: Path) -> Lake:
    return Lake(spark, capturing, tmp_path)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def records(settings: Settings, prefix: str) -> int:
    with Admin(settings) as admin:
        return sum(topic.records for topic in list_topics(admin) if topic.name.startswith(f"{prefix}.public."))


def capture(settings: Settings, name: str, url: str, values: ValueFormat) -> None:
    with ConnectClient(settings) as client:
        add_capture(
            client, settings, Capture(ConnectorName(name), ("public.*",), values), url, {"poll.interval.ms": "50"}
        )
        wait_until_streaming(client, ConnectorName(name), url, 100)


LONG_FORM = pytest.mark.skipif("ROUNDS" not in os.environ, reason="a part of `make faults`, which has the time")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("values", ["json", pytest.param("avro", marks=[pytest.mark.faults, LONG_FORM])])
def test_a_database_is_in_the_lake_as_it_is_now_and_as_it_came(
    lake: Lake, make_database: MakeDatabase, capture_name: str, values: ValueFormat
) -> None:
    url = make_database(*SHOP)
    capture(lake.settings, capture_name, url, values)
    wait_for(lambda: records(lake.settings, capture_name) == 7)
    source = {"type": "kafka", "config": {"pattern": f"{capture_name}\\.public\\.", "format": "debezium"}}
    sinks = [lake_sink("shop/{table}", mode="mirror"), lake_sink("log/{table}", mode="log")]
    file = lake.write(capture_name, source=source, sinks=sinks)

    assert lake.run(file) == {}
    assert lake.table("shop/orders", "customer, number, at") == run(url, "SELECT * FROM orders ORDER BY 1, 2")

    run(url, *CHANGES)
    wait_for(lambda: records(lake.settings, capture_name) >= 7 + 2 + 3 + 3 + 2 + 1 + 2)
    assert lake.run(file) == {}
    expected = run(url, IN_DATABASE)
    assert lake.table("shop/customers", CUSTOMERS) == expected
    assert lake.table("shop/customers", "id, balance, tags", "id = 10") == [(10, Decimal("1.25"), ["a", "b"])]
    assert lake.table("shop/customers", "_cdc.outside", "id = 6", order="id") == [({"balance": "NaN"},)]
    assert lake.table("shop/orders", "customer, number, at") == run(url, "SELECT * FROM orders")
    ops = [op for (op,) in lake.table("log/customers", "_cdc.op", order="_cdc.offset")]
    assert ops == ["r"] * 5 + ["u", "u", "d", "c", "d", "c", "d", "c"]

    assert lake.run(file) == {}
    assert lake.table("shop/customers", CUSTOMERS) == expected
    assert lake.table("log/customers", "count(*)") == [(len(ops),)]
    # A log is plain files for readers that know no deletion vectors, too.
    log = DeltaTable(f"{lake.settings.lake}/log/customers")
    assert log.to_pyarrow_dataset().count_rows() == len(ops)
    assert log.metadata().configuration["delta.checkpointInterval"] == "100"

    mirror = partial(Lakehouse(lake.settings).table, "shop/customers")
    verdict = verify(url, TableName("public", "customers"), mirror, patience=5)
    assert (verdict.rows, verdict.equal, verdict.differences) == (len(expected), len(expected), ())
    lake.spoil("UPDATE {} SET name = 'somebody' WHERE id = 3", "shop/customers")
    lake.spoil("DELETE FROM {} WHERE id = 4", "shop/customers")
    found = verify(url, TableName("public", "customers"), mirror, patience=0).differences
    assert [(each.key, each.problem, each.columns) for each in found] == [
        (("3",), "different", {"name": ("c3", "somebody")}),
        (("4",), "missing in the lake", {}),
    ]


@pytest.mark.timeout(300)
def test_values_of_every_form_are_the_same_in_the_lake(
    lake: Lake, make_database: MakeDatabase, capture_name: str
) -> None:
    url = make_database(*FORMS)
    capture(lake.settings, capture_name, url, "json")
    run(url, MORE_FORMS)
    wait_for(lambda: records(lake.settings, capture_name) == 2)
    source = {"type": "kafka", "config": {"pattern": f"{capture_name}\\.public\\.", "format": "debezium"}}
    file = lake.write(capture_name, source=source, sinks=[lake_sink("shop/{table}", mode="mirror")])
    assert lake.run(file) == {}
    mirror = partial(Lakehouse(lake.settings).table, "shop/forms")
    verdict = verify(url, TableName("public", "forms"), mirror, patience=0)
    assert (verdict.rows, verdict.equal, verdict.differences, verdict.not_compared) == (2, 2, (), ())


TRANSFORM = [
    {"type": "filter", "config": {"condition": "id < 5"}},
    {"type": "rename", "config": {"columns": {"name": "called"}}},
    {"type": "sql", "config": {"query": "SELECT * EXCEPT (balance), balance * 2 AS balance FROM source"}},
    {"type": "drop", "config": {"columns": ["tags"]}},
]


@pytest.mark.timeout(300)
def test_a_mirror_that_differs_on_purpose_is_compared_by_what_passes_its_transforms(
    lake: Lake,
    make_database: MakeDatabase,
    capture_name: str,
    run_command: RunCommand,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = make_database(*SHOP)
    capture(lake.settings, capture_name, url, "json")
    wait_for(lambda: records(lake.settings, capture_name) == 7)
    source = {"type": "kafka", "config": {"topic": f"{capture_name}.public.customers", "format": "debezium"}}
    file = lake.write(
        capture_name, source=source, transform=TRANSFORM, sinks=[lake_sink("shop/{table}", mode="mirror")]
    )
    assert lake.run(file) == {}

    monkeypatch.setenv("PENSTOCK_LAKE", str(lake.lake))
    command = ("cdc", "verify", capture_name, "public.customers", "--wait", "0")
    ran = run_command(*command, "--pipeline", file)
    assert (ran.code, ran.lines[2:4]) == (
        0,
        [
            "public.customers 5 4 0 none",
            "public.customers 1 row not in the lake: the pipeline may leave rows out",
        ],
    ), ran.err
    reason = "(changed or left out by a transform)"
    assert ran.lines[4] == f"public.customers not compared: balance {reason}, tags {reason}"
    blind = run_command(*command, "--mirror", "shop/{table}")
    assert (blind.code, "--pipeline FILE" in blind.err) == (1, True)

    lake.spoil("UPDATE {} SET called = 'somebody' WHERE id = 3", "shop/customers")
    spoilt = run_command(*command, "--pipeline", file)
    assert spoilt.code == 1
    assert spoilt.lines[3:5] == ["public.customers 3 different", "name: database c3, lake somebody"]
