from __future__ import annotations

from datetime import UTC, datetime, timedelta

from penstock.catalog.database import Database
from penstock.catalog.find.dataset import view
from penstock.catalog.intake import take
from penstock.catalog.own_datasets import Field, OwnDataset, register, table_urn, topic_urn
from penstock.catalog.staging.tables import METADATA_CHANGE
from tests.integration.catalog.events import change, owners, rows_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DATASETS = [
    OwnDataset(topic_urn("events"), owner="ann"),
    OwnDataset(
        table_urn("events"), [Field("id", "string", nullable=False)], "ann", [topic_urn("events")], "all events"
    ),
]


def test_what_a_pipeline_writes_is_there_with_schema_owner_and_lineage(database: Database) -> None:
    assert register(database, "events", DATASETS, NOW) == []
    with database.transaction() as connection:
        found = view(connection, table_urn("events"))
    assert [field["path"] for field in found.fields] == ["id"]
    assert [owner["owner"] for owner in found.owners] == ["ann"]
    assert (found.upstream, found.dataset["description"]) == ([topic_urn("events")], "all events")


def test_telling_the_same_again_changes_nothing(database: Database) -> None:
    register(database, "events", DATASETS, NOW)
    told = rows_of(database, "SELECT count(*) FROM outbox")
    register(database, "events", DATASETS, NOW + timedelta(hours=1))
    assert rows_of(database, "SELECT count(*) FROM outbox") == told
    assert rows_of(database, "SELECT count(*) FROM dataset_schema") == [(1,)]


def test_what_somebody_says_of_a_table_prevails(database: Database) -> None:
    take(database, METADATA_CHANGE, [change(1000, urn=table_urn("events"), owners=owners("bob"))])
    register(database, "events", DATASETS, NOW)
    query = f"SELECT owner FROM dataset_current_owner WHERE urn = '{table_urn('events')}'"  # noqa: S608 - the test's own
    assert rows_of(database, query) == [("urn:li:corpuser:bob",)]
