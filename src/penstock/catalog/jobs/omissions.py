"""Counts of skipped records, read from the database."""

from __future__ import annotations

from typing import NamedTuple

from penstock.catalog.database import Connection, records
from penstock.catalog.jobs.store import JobId

_LEFT_OUT = "SELECT query, left_out FROM job_progress WHERE query LIKE %s ORDER BY query"


class Omission(NamedTuple):
    """Number of records of a topic that a job skipped on purpose, with the reason."""

    topic: str
    reason: str
    records: int


def left_out(connection: Connection, job: JobId) -> list[Omission]:
    """Return the number of records skipped on purpose since the job's first run, by topic and reason."""
    found = [(*row["query"].rsplit("/", 2), row["left_out"]) for row in records(connection, _LEFT_OUT, [f"%/{job}/%"])]
    sums: dict[tuple[str, str], int] = {}
    for _group, number, topic, reasons in found:
        for reason, count in reasons.items() if number == str(job) else ():
            sums[topic, reason] = sums.get((topic, reason), 0) + count
    return [Omission(*key, count) for key, count in sorted(sums.items())]
