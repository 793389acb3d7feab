"""What the jobs in the database ask for: one work for each topic of each job."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace

from penstock.catalog.database import Connection, records
from penstock.catalog.jobs.check import problems_of
from penstock.catalog.jobs.spec import JobSpec, Route, read_spec
from penstock.catalog.jobs.store import Job, JobId
from penstock.catalog.processors.columns import Cluster
from penstock.errors import ConfigError

_NO_TOPIC_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Work:
    """What one query does: a topic of a job. Works that are equal need not be done anew when a job changes."""

    job: JobId
    name: str
    spec: JobSpec
    route: Route
    clusters: tuple[Cluster, ...]

    @property
    def pipeline(self) -> str:
        """The job as heartbeats, metrics and dead letters name it."""
        return _NO_TOPIC_NAME.sub("-", self.name)[:200]

    @property
    def progress(self) -> str:
        """Under which name its progress is kept; another consumer group begins by itself."""
        return f"{self.spec.group}/{self.job}/{self.route.topic}"


def works_of(connection: Connection, job: Job, own_cluster: str = "") -> list[Work]:
    """The works of a job; a ConfigError has everything that would keep it from running.

    `own_cluster` is the `bootstrap` of the settings.
    """

    def place(key: str) -> str:
        return f"job {job.job_id}: {key}"

    spec = read_spec(job.properties, os.environ, place, own_cluster=own_cluster)
    if problems := problems_of(connection, spec, place):
        raise ConfigError(problems)
    found = records(connection, "SELECT cluster_code, cluster_short_name FROM cfg_cluster ORDER BY cluster_code")
    clusters = tuple(Cluster(row["cluster_code"], row["cluster_short_name"]) for row in found)
    # The other topics are left out, so that a change of theirs starts nothing anew.
    shared = replace(spec, routes=(), notes=())
    return [Work(job.job_id, job.name, shared, route, clusters) for route in spec.routes]
