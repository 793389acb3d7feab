"""Where data comes from and where it goes, several steps far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from penstock.catalog.database import Connection, records

Direction = Literal["up", "down"]

MAX_STEPS = 1000
"""A graph with more edges than this is cut: nobody reads it."""

# Breadth first; an edge is followed once, so that circles end.
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
    """One edge: `far` is further from where the walk began than `near`, which is `depth` - 1 steps away."""

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
    """What a dataset comes from and where it goes, the nearest first."""

    urn: str
    upstream: list[Step]
    downstream: list[Step]


def lineage(connection: Connection, urn: str, depth: int = 3) -> Lineage:
    """The lineage of a dataset in both directions, so many steps far."""
    return Lineage(urn, walk(connection, urn, "up", depth), walk(connection, urn, "down", depth))


def walk(connection: Connection, urn: str, direction: Direction, depth: int = 3) -> list[Step]:
    """The edges up or down from a dataset, the nearest first."""
    near, far = ("downstream_urn", "upstream_urn") if direction == "up" else ("upstream_urn", "downstream_urn")
    query = _WALK.format(near=near, far=far)
    rows = records(connection, query, {"urn": urn, "depth": depth, "limit": MAX_STEPS})
    return [Step(**row) for row in rows]
