"""View of a dataset with everything known about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.catalog.database import Connection, Record, records
from penstock.catalog.errors import NotInCatalog
from penstock.errors import UsageError

_SAME_NAME = "SELECT urn FROM dataset WHERE urn = %(name)s OR lower(name) = lower(%(name)s) ORDER BY urn LIMIT 20"

_VERSIONS = """
SELECT s.version, s.source, s.valid_from, s.fields, s.diff FROM dataset_schema s JOIN source r ON r.name = s.source
WHERE urn = %s ORDER BY r.rank, s.version DESC LIMIT %s
"""
_OWNERS = """
SELECT o.owner, o.owner_type, o.source, o.valid_from, o.valid_to, EXISTS (
    SELECT FROM dataset_current_owner c WHERE c.urn = o.urn AND c.source = o.source
        AND c.owner = o.owner AND c.owner_type = o.owner_type AND o.valid_to IS NULL) AS counts
FROM dataset_owner o JOIN source r ON r.name = o.source
WHERE o.urn = %s ORDER BY o.valid_to IS NOT NULL, r.rank, o.valid_from DESC, o.owner, o.owner_type LIMIT {most}
"""
_LOADS = """
SELECT cluster, operation_type, partition_grain, partition_expr, data_time, record_count, late_record_count, log_time,
    ref_uri, job_context, flow_name, job_name, flow_exec_id
FROM dataset_load_status WHERE urn = %s ORDER BY log_time DESC LIMIT %s
"""


_UPSTREAM = "SELECT DISTINCT upstream_urn FROM dataset_lineage WHERE downstream_urn = %s ORDER BY 1 LIMIT {most}"
_DOWNSTREAM = "SELECT DISTINCT downstream_urn FROM dataset_lineage WHERE upstream_urn = %s ORDER BY 1 LIMIT {most}"

MOST = 1000
"""Limit of owners and neighbours. A longer list is not readable."""


@dataclass(frozen=True)
class DatasetView:
    """Dataset with its row, tags, schema history (newest first), owners of all times, last loads and neighbours."""

    dataset: Record
    tags: list[str]
    schemas: list[Record]
    owners: list[Record]
    loads: list[Record]
    upstream: list[str]
    downstream: list[str]

    @property
    def fields(self) -> list[dict[str, Any]]:
        """Return the fields of the current schema; empty if the schema is unknown."""
        return list(self.schemas[0]["fields"]) if self.schemas else []


def view(connection: Connection, urn: str, *, versions: int = 20, loads: int = 10) -> DatasetView:
    """Return the view of the dataset with this URN."""
    rows = records(connection, "SELECT * FROM dataset WHERE urn = %s", [urn])
    if not rows:
        raise not_there(urn)
    return DatasetView(
        dataset=rows[0],
        tags=_column(connection, "SELECT DISTINCT tag FROM dataset_tag WHERE urn = %s ORDER BY 1", urn),
        schemas=records(connection, _VERSIONS, [urn, versions]),
        owners=owners(connection, urn),
        loads=records(connection, _LOADS, [urn, loads]),
        upstream=_column(connection, _UPSTREAM.format(most=MOST), urn),
        downstream=_column(connection, _DOWNSTREAM.format(most=MOST), urn),
    )


def owners(connection: Connection, urn: str) -> list[Record]:
    """Return current and former owners, current owners first. `counts` marks owners from the prevailing source."""
    return records(connection, _OWNERS.format(most=MOST), [urn])


def resolve(connection: Connection, name: str) -> str:
    """Return the URN of a dataset from its URN or name, ignoring case. Raise UsageError if the name is ambiguous."""
    found = [row["urn"] for row in records(connection, _SAME_NAME, {"name": name})]
    if name in found:
        return name
    if not found:
        raise not_there(name)
    if len(found) > 1:
        raise UsageError(f"{name} is the name of {len(found)} datasets", hint=f"give one of {', '.join(found)}")
    return str(found[0])


def not_there(name: str) -> NotInCatalog:
    """Return the error for an unknown dataset."""
    return NotInCatalog(f"the catalog has no dataset {name}", hint="`penstock catalog search WORD` finds by parts")


def _column(connection: Connection, query: str, urn: str) -> list[str]:
    return [next(iter(row.values())) for row in records(connection, query, [urn])]
