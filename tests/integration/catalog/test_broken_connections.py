from __future__ import annotations

import psycopg
import pytest

from penstock.catalog.database import Database
from penstock.catalog.intake import take
from penstock.catalog.merge import merge
from penstock.catalog.staging.tables import METADATA_CHANGE
from penstock.catalog.staging.writer import stage
from penstock.config import Settings
from penstock.errors import DatabaseUnavailable
from tests.integration.catalog.events import change, final_tables, rows_of

ROWS = [change(1000, tags=["a"], offset=0), change(2000, tags=["b"], offset=1)]


def break_connections(settings: Settings) -> None:
    """End every session of the database but our own, as a restart of the server does."""
    query = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"""
    with psycopg.connect(settings.database.get_secret_value()) as connection:
        connection.execute(query)


def test_a_connection_that_broke_between_batches_is_replaced(database: Database, catalog_settings: Settings) -> None:
    take(database, METADATA_CHANGE, ROWS[:1])
    break_connections(catalog_settings)
    take(database, METADATA_CHANGE, ROWS[1:])
    assert rows_of(database, "SELECT tag FROM dataset_tag") == [("b",)]


def test_a_batch_whose_connection_breaks_leaves_nothing_and_can_be_given_again(
    database: Database, catalog_settings: Settings
) -> None:
    def fail() -> None:
        with database.transaction() as connection:
            stage(connection, METADATA_CHANGE, ROWS)
            break_connections(catalog_settings)
            merge(connection)

    with pytest.raises(DatabaseUnavailable, match="does not answer"):
        fail()
    assert not any(final_tables(database).values())
    take(database, METADATA_CHANGE, ROWS)
    assert rows_of(database, "SELECT tag FROM dataset_tag") == [("b",)]
