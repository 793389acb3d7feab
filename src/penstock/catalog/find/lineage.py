"""Lineage: upstream and downstream datasets, over several steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from penstock.catalog.database import Connection, records

Direction = Literal["up", "down"]

MAX_STEPS = 1000
"""Limit of edges. A larger graph is cut, because it is not readable."""

# Breadth-first search. UNION removes duplicates of a depth, and the depth limit ends cycles.
_WALK = """
WITH RECURSIVE walk (depth, near, far) AS (
    SELECT 1, {near}, {far} FROM dataset_lineage WHERE {near} = %(urn)s
    UNION
    SELECT w.depth + 1, l.{near}, l.{far} FROM walk w JOIN dataset_lineage l ON l.{near} = w.far
    WHERE w.depth < %(depth)s
)
SELECT min(w.depth) AS depth, w.near, w.far, l.kind, l.source, nullif(l.job_urn, '') AS job, l.first_seen, l.last_seen
FROM walk w JOIN dataset_lineage l ON l.{near} = w.near AND l.{far} = w.far
GROUP BY w.near, w.far, l.kind, l.source, l.job_urn, l.first_seen, l.last_seen
ORDER BY depth, w.near, w.far, l.source, l.job_urn LIMIT %(limit)s
"""


@dataclass(frozen=True)
class Step:
    """Edge of the graph. `far` is `depth` steps from the start of the walk, `near` is one step closer."""

    depth: int
    near: str
    far: str
    kind: str
    source: str
    job: str | None
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True)
class Lineage:
    """Upstream and downstream edges of a dataset, nearest first."""

    urn: str
    upstream: list[Step]
    downstream: list[Step]


def lineage(connection: Connection, urn: str, depth: int = 3) -> Lineage:
    """Return the lineage of a dataset in both directions, up to `depth` steps."""
    return Lineage(urn, walk(connection, urn, "up", depth), walk(connection, urn, "down", depth))


def walk(connection: Connection, urn: str, direction: Direction, depth: int = 3) -> list[Step]:
    """Return the edges up or down from a dataset, nearest first."""
    near, far = ("downstream_urn", "upstream_urn") if direction == "up" else ("upstream_urn", "downstream_urn")
    query = _WALK.format(near=near, far=far)
    rows = records(connection, query, {"urn": urn, "depth": depth, "limit": MAX_STEPS})
    return [Step(**row) for row in rows]
