from __future__ import annotations

import json
import time
from threading import Event

import pytest
from pydantic import SecretStr

from penstock.catalog.own_datasets import Field, OwnDataset, avro_fields, table_urn, topic_urn
from penstock.cli.catalog_telling import Statements, told_to_catalog
from penstock.cli.collector import _datasets
from penstock.cli.run_products import statements
from penstock.collector.config import CollectorSettings
from penstock.config import Settings
from penstock.config.settings import LoadedSettings
from penstock.errors import QueryFailed
from penstock.local.ports import free_ports
from penstock.pipelines.products import Column, Product
from penstock.pipelines.sinks.base import Target
from penstock.schemas import Schema

COLUMNS = (Column("id", "bigint", nullable=False), Column("at", "timestamp", nullable=True))


def product(kind: str, name: str, columns: tuple[Column, ...] | None = COLUMNS, pipeline: str = "p") -> Product:
    return Product(pipeline, "ann", Target(kind, name), columns, ("events",))  # type: ignore[arg-type] - as the test says


def test_what_is_written_has_columns_owner_and_upstreams_and_what_is_read_is_only_there() -> None:
    assert statements([product("topic", "out"), product("table", "shop/orders", None)]) == {
        "p": [
            OwnDataset(topic_urn("events")),
            OwnDataset(
                topic_urn("out"),
                [Field("id", "bigint", nullable=False), Field("at", "timestamp")],
                "ann",
                [topic_urn("events")],
            ),
            OwnDataset(table_urn("shop/orders"), None, "ann", [topic_urn("events")]),
        ]
    }


def test_every_pipeline_speaks_for_itself() -> None:
    said = statements([product("table", "a", pipeline="one"), product("table", "b", pipeline="two")])
    assert [[dataset.urn for dataset in datasets] for datasets in said.values()] == [
        [topic_urn("events"), table_urn("a")],
        [topic_urn("events"), table_urn("b")],
    ]


def test_fields_of_avro_have_their_type_and_whether_they_may_be_null() -> None:
    fields = [
        {"name": "id", "type": "long"},
        {"name": "page", "type": ["null", "string"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "either", "type": ["int", "string"]},
    ]
    schema = Schema.from_text(json.dumps({"type": "record", "name": "Event", "fields": fields}))
    assert avro_fields(schema) == [
        Field("id", "long", nullable=False),
        Field("page", "string"),
        Field("tags", "array", nullable=False),
        Field("either", "int | string", nullable=False),
    ]


def test_the_collector_tells_its_topics_with_the_fields_of_their_schemas() -> None:
    [dataset] = _datasets(CollectorSettings())["collector"]
    assert dataset.urn == topic_urn("events")
    assert Field("User_ID", "string", nullable=False) in (dataset.fields or ())


@pytest.mark.parametrize("is_set", [True, False])
def test_a_catalog_that_is_away_holds_nobody_up_and_is_told_of_once_if_it_was_set(
    capsys: pytest.CaptureFixture[str], *, is_set: bool
) -> None:
    (port,) = free_ports(1)
    settings = Settings(database=SecretStr(f"postgresql://penstock@127.0.0.1:{port}/penstock"))
    started, tried = time.monotonic(), Event()

    def find() -> Statements:
        tried.set()
        return {"p": [OwnDataset(topic_urn("events"))]}

    with told_to_catalog(find, LoadedSettings(settings, {"database": "PENSTOCK_DATABASE"} if is_set else {})):
        assert tried.wait(5)
    assert time.monotonic() - started < 4
    assert capsys.readouterr().err.count("the catalog does not know of this yet") == is_set


def test_a_pipeline_that_cannot_say_what_it_writes_holds_nobody_up() -> None:
    def find() -> Statements:
        raise QueryFailed("the Java process of Spark is gone")

    with told_to_catalog(find, LoadedSettings(Settings(), {})):
        pass
