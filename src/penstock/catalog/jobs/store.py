"""Jobs in the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NewType

from penstock.catalog.database import Connection, records
from penstock.catalog.errors import JobNotFound

JobId = NewType("JobId", int)

_JOBS = """
SELECT j.job_id, j.job_name, j.is_active, j.revision, coalesce((
    SELECT jsonb_object_agg(property_name, property_value) FROM etl_job_property p WHERE p.job_id = j.job_id
), '{}') AS properties
FROM etl_job j
"""


@dataclass(frozen=True)
class Job:
    """Stored job with its original properties. `revision` increases with each change."""

    job_id: JobId
    name: str
    is_active: bool
    revision: int
    properties: Mapping[str, str]


def list_jobs(connection: Connection) -> list[Job]:
    """Return all jobs, ordered by number."""
    return [_job(row) for row in records(connection, f"{_JOBS} ORDER BY job_id")]


def find_job(connection: Connection, wanted: str) -> Job:
    """Return the job with this number or name."""
    query = (
        f"{_JOBS} WHERE job_name = %(wanted)s OR job_id::text = %(wanted)s ORDER BY job_name = %(wanted)s DESC LIMIT 1"
    )
    found = records(connection, query, {"wanted": wanted})
    if not found:
        raise JobNotFound(f"there is no job {wanted}", hint="`penstock jobs list` shows the jobs")
    return _job(found[0])


def save_job(connection: Connection, name: str, properties: Mapping[str, str]) -> Job:
    """Store a job. An existing job is replaced and keeps the number."""
    known = {job.name: job for job in list_jobs(connection)}.get(name)
    if known and known.properties == properties:
        return known
    upsert = """
        INSERT INTO etl_job AS j (job_name) VALUES (%s)
        ON CONFLICT (job_name) DO UPDATE SET revision = j.revision + 1 RETURNING job_id"""
    [row] = records(connection, upsert, [name])
    connection.execute("DELETE FROM etl_job_property WHERE job_id = %s", [row["job_id"]])
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO etl_job_property (job_id, property_name, property_value) VALUES (%s, %s, %s)",
            [(row["job_id"], key, value) for key, value in properties.items()],
        )
    return find_job(connection, name)


def set_active(connection: Connection, wanted: str, *, is_active: bool) -> Job:
    """Activate or pause a job everywhere. The progress is kept."""
    job = find_job(connection, wanted)
    connection.execute("UPDATE etl_job SET is_active = %s WHERE job_id = %s", [is_active, job.job_id])
    return replace(job, is_active=is_active)


def remove_job(connection: Connection, wanted: str) -> Job:
    """Delete a job. Written data and progress are kept."""
    job = find_job(connection, wanted)
    connection.execute("DELETE FROM etl_job WHERE job_id = %s", [job.job_id])
    return job


def _job(row: Mapping[str, object]) -> Job:
    return Job(row["job_id"], row["job_name"], row["is_active"], row["revision"], row["properties"])  # type: ignore[arg-type] # the query's own types
