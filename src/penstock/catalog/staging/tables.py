"""Names and columns of the staging tables, read from the database."""

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
"""Tables that the merge reads. Rows of other tables, such as a user's own, stay where they are written."""

ORIGIN: Final = ("kafka_topic", "kafka_partition", "kafka_offset")
"""Columns with the origin of a row."""


def columns_of(connection: Connection, table: TableName) -> tuple[str, ...]:
    """Return a table's columns in order. Raise DatabaseRefused if the table does not exist."""
    query = """
        SELECT attname FROM pg_attribute
        WHERE attrelid = to_regclass(quote_ident(%s)) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
    found = tuple(name for (name,) in connection.execute(query, [table]))
    if not found:
        hint = did_you_mean(table, MERGED, "create it first, in the schema public")
        raise DatabaseRefused(f"there is no table {table}", hint=hint)
    return found


def has_origin_key(connection: Connection, table: TableName) -> bool:
    """Whether the table has a unique key of exactly the ORIGIN columns, which identifies duplicate rows."""
    query = """
        SELECT FROM pg_index i
        WHERE indrelid = to_regclass(quote_ident(%s)) AND indisunique AND indimmediate AND indisvalid
            AND indpred IS NULL AND indnkeyatts = 3 AND (
                SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute a
                WHERE a.attrelid = i.indrelid AND a.attnum = ANY((i.indkey::int2[])[0:2])) = %s"""
    return connection.execute(query, [table, sorted(ORIGIN)]).fetchone() is not None


def incoming(table: TableName) -> str:
    """Return the name of the session's table that receives a batch of rows for this table."""
    return f"incoming_{table.removeprefix(PREFIX)}"
