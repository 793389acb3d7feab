from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from penstock.catalog.database import Database
from penstock.catalog.intake import take
from penstock.catalog.staging.tables import COMPACTION, METADATA_CHANGE
from penstock.config import Settings
from penstock.console.app import make_app
from penstock.console.catalog_reader import CatalogReader
from penstock.errors import DatabaseRefused
from tests.conftest import RunCommand
from tests.integration.catalog.events import change, fields, load, owners, urn
from tests.integration.catalog.test_broken_connections import break_connections

DAY = 86_400_000
HDFS = "urn:li:dataset:(urn:li:dataPlatform:hdfs,/data/e,PROD)"


@pytest.fixture
def console(database: Database, catalog_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The API over a catalog that knows a little, which the commands see as well."""
    monkeypatch.setenv("PENSTOCK_DATABASE", catalog_settings.database.get_secret_value())
    said = {"schema_fields": fields("member_id"), "owners": owners("ann"), "tags": ["pii"], "upstreams": [urn("a.b")]}
    take(database, METADATA_CHANGE, [change(1000, **said)])
    take(database, COMPACTION, [load(day * DAY, f"1970/01/{day + 1:02}", 7) for day in range(3)])
    with TestClient(make_app(catalog_settings)) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("search?q=page+view", ("search", "page", "view")),
        (f"datasets/{urn()}", ("show", urn())),
        (f"datasets/{HDFS}", ("show", HDFS)),
        ("datasets/tracking.pageviewevent", ("show", "tracking.PageViewEvent")),
        (f"owners?dataset={urn()}", ("owners", urn())),
        ("lineage?dataset=a.b&depth=1", ("lineage", "a.b", "--depth", 1)),
        ("loads?late=true", ("loads", "--late")),
        ("loads?dataset=/data/e", ("loads", "/data/e")),
    ],
)
def test_the_api_answers_as_the_commands_do(
    console: TestClient, run_command: RunCommand, path: str, words: tuple[Any, ...]
) -> None:
    answer = console.get(f"/api/catalog/{path}")
    assert answer.status_code == 200
    assert answer.json()
    assert answer.json() == json.loads(run_command("catalog", *words, "--json").out)


def test_a_dataset_that_nobody_told_of_is_not_found(console: TestClient) -> None:
    answer = console.get("/api/catalog/datasets/nowhere")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "catalog.not_found")


def test_a_name_that_two_datasets_have_is_refused(console: TestClient, database: Database) -> None:
    take(database, METADATA_CHANGE, [change(1, name="a.b"), change(1, urn=urn("a.b", "kafka"))])
    answer = console.get("/api/catalog/owners", params={"dataset": "a.b"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "usage")


def test_answers_are_cut_where_asked(console: TestClient, database: Database) -> None:
    take(database, COMPACTION, [load(DAY, "1970/01/02", 7, dataset=f"/data/{number}") for number in range(5)])
    assert len(console.get("/api/catalog/loads", params={"limit": 3}).json()) == 3
    assert len(console.get("/api/catalog/search", params={"q": "data", "limit": 2}).json()) == 2


def test_a_database_that_was_restarted_is_found_again(console: TestClient, catalog_settings: Settings) -> None:
    assert console.get("/api/catalog/search?q=page").status_code == 200
    break_connections(catalog_settings)
    assert console.get("/api/catalog/search?q=page").status_code == 200


def test_the_api_cannot_write(catalog_settings: Settings) -> None:
    reader = CatalogReader(catalog_settings)
    with pytest.raises(DatabaseRefused, match="read-only transaction"), reader.reading() as connection:
        connection.execute("DELETE FROM dataset")
    reader.close()
