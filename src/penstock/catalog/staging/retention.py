"""Retention of staging: removes old rows. Their data stays in the final tables."""

from __future__ import annotations

from datetime import datetime

from penstock.catalog.database import Connection, Database, sql
from penstock.catalog.staging.tables import MERGED, TableName
from penstock.events.record import Offset
from penstock.kafka.offsets import PartitionId

_PRUNE = """
WITH removed AS (
    DELETE FROM {} WHERE log_event_time < %(before_ms)s RETURNING kafka_topic, kafka_partition, kafka_offset
), noted AS (
    INSERT INTO staging_pruned AS p (table_name, kafka_topic, kafka_partition, row_count, first_offset, until)
    SELECT %(table)s, kafka_topic, kafka_partition, count(*), min(kafka_offset), %(before)s
    FROM removed GROUP BY kafka_topic, kafka_partition
    ON CONFLICT (table_name, kafka_topic, kafka_partition) DO UPDATE SET
        row_count = p.row_count + EXCLUDED.row_count, until = greatest(p.until, EXCLUDED.until),
        first_offset = least(p.first_offset, EXCLUDED.first_offset)
)
SELECT count(*) FROM removed
"""


def prune(database: Database, before: datetime) -> dict[TableName, int]:
    """Remove the rows of events before this time. Return the number of removed rows per table."""
    return {table: _prune(database, table, before) for table in MERGED}


def note_back(connection: Connection, table: TableName, place: PartitionId, since: Offset) -> None:
    """Delete the note about a partition's pruned rows if all were staged again, from offset `since` on."""
    command = """DELETE FROM staging_pruned WHERE table_name = %s AND kafka_topic = %s AND kafka_partition = %s
                 AND first_offset >= %s"""
    connection.execute(command, [table, place.topic, place.partition, since])


def _prune(database: Database, table: TableName, before: datetime) -> int:
    command = sql.SQL(_PRUNE).format(sql.Identifier(table))
    given = {"table": table, "before": before, "before_ms": round(before.timestamp() * 1000)}
    with database.transaction() as connection:
        found = connection.execute(command, given).fetchone()
    return int(found[0]) if found else 0
