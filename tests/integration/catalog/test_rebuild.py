from __future__ import annotations

from datetime import UTC, datetime

import pytest

from penstock.catalog import rebuild as rebuilding
from penstock.catalog.database import Database
from penstock.catalog.errors import StagingIncomplete
from penstock.catalog.intake import take
from penstock.catalog.rebuild import merge_staging, rebuild
from penstock.catalog.staging.retention import prune
from penstock.catalog.staging.tables import COMPACTION, METADATA_CHANGE
from tests.integration.catalog.events import change, fields, final_tables, load, owners, rows_of

OUTBOX = "SELECT aspect, before, after FROM outbox ORDER BY id"


@pytest.fixture
def filled(database: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A catalog with some history, which a rebuild takes in small chunks."""
    monkeypatch.setattr(rebuilding, "CHUNK", 2)
    take(database, METADATA_CHANGE, [change(1000, schema_fields=fields("a"), owners=owners("ann"))])
    take(
        database,
        METADATA_CHANGE,
        [change(at * 1000, schema_fields=fields(f"f{at % 3}"), tags=["t"]) for at in range(2, 7)],
    )
    take(database, COMPACTION, [load(at * 1000, f"2016/07/{at:02}", at) for at in range(1, 6)])
    with database.transaction() as connection:
        connection.execute("DELETE FROM outbox")
    return database


def test_a_rebuild_gives_the_same_tables_and_tells_nothing(filled: Database) -> None:
    before = final_tables(filled)
    assert rebuild(filled) == 11
    assert final_tables(filled) == before
    assert rows_of(filled, OUTBOX) == []


def test_merging_all_of_staging_again_changes_nothing(filled: Database) -> None:
    before = final_tables(filled)
    with filled.transaction() as connection:
        merge_staging(connection)
    assert final_tables(filled) == before
    assert rows_of(filled, OUTBOX) == []


def test_a_rebuild_mends_what_was_wrong_and_tells_it(filled: Database) -> None:
    before = final_tables(filled)
    with filled.transaction() as connection:
        connection.execute("DELETE FROM dataset_tag")
        connection.execute("UPDATE dataset_load_status SET record_count = 0")
    rebuild(filled)
    assert final_tables(filled) == before
    assert rows_of(filled, OUTBOX) == [("globalTags", None, ["t"])]


def test_after_retention_a_rebuild_asks_whether_it_may_forget(filled: Database) -> None:
    before = final_tables(filled)
    removed = prune(filled, datetime.fromtimestamp(3, UTC))
    assert (removed[METADATA_CHANGE], removed[COMPACTION]) == (2, 2)
    assert final_tables(filled) == before
    with pytest.raises(StagingIncomplete, match="removed 4 rows"):
        rebuild(filled)
    assert rebuild(filled, although_incomplete=True) == 7
    assert rows_of(filled, "SELECT min(record_count) FROM dataset_load_status") == [(3,)]
