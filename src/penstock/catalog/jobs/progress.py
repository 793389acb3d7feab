"""Progress of a job's query, stored in the database next to the job's tables."""

from __future__ import annotations

import json
import uuid

from penstock.catalog.database import Database, records
from penstock.catalog.jobs.left_out import LeftOut
from penstock.spark.queries.position import Position
from penstock.spark.queries.state import taken_over

_CLAIM = """
INSERT INTO job_progress (query, owner) VALUES (%s, %s)
ON CONFLICT (query) DO UPDATE SET owner = EXCLUDED.owner RETURNING position
"""
_CHECK = "SELECT 1 FROM job_progress WHERE query = %s AND owner = %s"
_SAVE = """
UPDATE job_progress SET position = %s::jsonb, left_out = (
    SELECT coalesce(jsonb_object_agg(reason, records), '{}') FROM (
        SELECT reason, sum(count::bigint) AS records
        FROM (
            SELECT * FROM jsonb_each_text(left_out) UNION ALL SELECT * FROM jsonb_each_text(%s::jsonb)
        ) AS both_counts (reason, count) GROUP BY reason
    ) AS sums
) WHERE query = %s AND owner = %s RETURNING 1
"""


class JobProgress:
    """State of a query in the database, so that a driver on any machine can continue."""

    def __init__(self, database: Database, query: str, left_out: LeftOut) -> None:
        self._database = database
        self._query = query
        self._left_out = left_out
        self._owner = uuid.uuid4().hex

    def claim(self) -> Position | None:
        """Take ownership of the query's progress. Return the saved position, if any."""
        self._left_out.pending = {}
        with self._database.transaction() as connection:
            [row] = records(connection, _CLAIM, [self._query, self._owner])
        return Position.from_data(row["position"]) if row["position"] else None

    def check(self) -> None:
        """Raise an error if another driver has taken over the query."""
        self._owned(_CHECK, [self._query, self._owner])

    def save(self, position: Position) -> None:
        """Save the position. Add the batch's skipped records in the same transaction."""
        position_text, counts = json.dumps(position.as_data()), json.dumps(dict(self._left_out.pending))
        self._owned(_SAVE, [position_text, counts, self._query, self._owner])
        self._left_out.pending = {}

    def _owned(self, statement: str, parameters: list[str]) -> None:
        with self._database.transaction() as connection:
            if not records(connection, statement, parameters):
                raise taken_over(self._query)
