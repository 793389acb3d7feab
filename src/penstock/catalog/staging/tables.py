"""The staging tables: their names, and which columns each has, as the database says."""

from __future__ import annotations

from typing import Final, NewType

from penstock.catalog.database import Connection
from penstock.config.suggest import did_you_mean
from penstock.errors import DatabaseRefused

TableName = NewType("TableName", str)

PREFIX: Final = "stg_kafka_"

COMPACTION: Final = TableName("stg_kafka_gobblin_compaction")
LUMOS: Final = TableName("stg_kafka_gobblin_lumos")
DISTCP: Final = TableName("stg_kafka_gobblin_distcp")
FILE_AUDIT: Final = TableName("stg_kafka_gobblin_audit")
METASTORE_AUDIT: Final = TableName("stg_kafka_metastore_audit")
METADATA_CHANGE: Final = TableName("stg_kafka_metadata_change")
JOB_EXECUTION: Final = TableName("stg_kafka_job_execution")

MERGED: Final = (COMPACTION, LUMOS, DISTCP, FILE_AUDIT, METASTORE_AUDIT, METADATA_CHANGE, JOB_EXECUTION)
"""The tables that the merge reads; rows of others, a user's own, stay where they are written."""

ORIGIN: Final = ("kafka_topic", "kafka_partition", "kafka_offset")
"""The columns that say which message a row comes from."""


def columns_of(connection: Connection, table: TableName) -> tuple[str, ...]:
    """A table's columns, in order; DatabaseRefused if there is no such table."""
    query = """
        SELECT attname FROM pg_attribute
        WHERE attrelid = to_regclass(quote_ident(%s)) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
    found = tuple(name for (name,) in connection.execute(query, [table]))
    if not found:
        hint = did_you_mean(table, MERGED, "create it first, in the schema public")
        raise DatabaseRefused(f"there is no table {table}", hint=hint)
    return found


def has_origin_key(connection: Connection, table: TableName) -> bool:
    """Whether the table has a unique key of the columns of ORIGIN alone, by which a row that comes again is known."""
    query = """
        SELECT FROM pg_index i
        WHERE indrelid = to_regclass(quote_ident(%s)) AND indisunique AND indimmediate AND indisvalid
            AND indpred IS NULL AND indnkeyatts = 3 AND (
                SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute a
                WHERE a.attrelid = i.indrelid AND a.attnum = ANY((i.indkey::int2[])[0:2])) = %s"""
    return connection.execute(query, [table, sorted(ORIGIN)]).fetchone() is not None


def incoming(table: TableName) -> str:
    """The session's own table in which a batch of rows for this one arrives."""
    return f"incoming_{table.removeprefix(PREFIX)}"
