"""Works of the jobs in the database: one per topic of each job."""

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
    """Work of one query: a topic of a job. A query whose work is unchanged keeps running when a job changes."""

    job: JobId
    name: str
    spec: JobSpec
    route: Route
    clusters: tuple[Cluster, ...]

    @property
    def pipeline(self) -> str:
        """Return the job's name for heartbeats, metrics and dead letters."""
        return _NO_TOPIC_NAME.sub("-", self.name)[:200]

    @property
    def progress(self) -> str:
        """Return the name under which the progress is stored. A new consumer group starts with its own progress."""
        return f"{self.spec.group}/{self.job}/{self.route.topic}"


def works_of(connection: Connection, job: Job, own_cluster: str = "") -> list[Work]:
    """Return the works of a job. Raise ConfigError with every problem that prevents the job from running.

    `own_cluster` is the `bootstrap` of the settings.
    """

    def place(key: str) -> str:
        return f"job {job.job_id}: {key}"

    spec = read_spec(job.properties, os.environ, place, own_cluster=own_cluster)
    if problems := problems_of(connection, spec, place):
        raise ConfigError(problems)
    found = records(connection, "SELECT cluster_code, cluster_short_name FROM cfg_cluster ORDER BY cluster_code")
    clusters = tuple(Cluster(row["cluster_code"], row["cluster_short_name"]) for row in found)
    # Leave out the job's other topics, so that a change in them does not restart this query.
    shared = replace(spec, routes=(), notes=())
    return [Work(job.job_id, job.name, shared, route, clusters) for route in spec.routes]
