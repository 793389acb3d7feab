"""Running queries of the jobs in the database, updated as jobs change."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from penstock.catalog.database import Connection, Database
from penstock.catalog.jobs.store import Job, find_job, list_jobs
from penstock.catalog.jobs.work import Work, works_of
from penstock.errors import ConfigError, PenstockError, Problem, Terminal
from penstock.spark.queries.query import Query

_LOOK_SECONDS = 2.0
_log = logging.getLogger(__name__)


class Roster:
    """Queries of the wanted jobs (by number or name), or of all active jobs.

    The jobs are polled every two seconds. Only queries of changed topics are replaced. A job whose new properties are
    invalid continues unchanged, and the error is logged once. All jobs continue while the database is unavailable.
    """

    def __init__(
        self, database: Database, wanted: Sequence[str], query_of: Callable[[Work], Query], own_cluster: str = ""
    ) -> None:
        self._database = database
        self._own_cluster = own_cluster
        self._wanted = wanted
        self._query_of = query_of
        self._works: dict[str, list[Work]] = {}
        self._queries: list[tuple[Work, Query]] = []
        self._next_look = 0.0
        self.refused: dict[str, PenstockError] = {}
        """Errors of jobs that do not run, or do not run as configured in the database, by job name."""

    def __call__(self) -> list[Query]:
        """Return the queries to run now."""
        if time.monotonic() >= self._next_look:
            self._look()
            self._next_look = time.monotonic() + _LOOK_SECONDS
        return [query for _, query in self._queries]

    def _look(self) -> None:
        told, self.refused = self.refused, {}
        try:
            with self._database.transaction() as connection:
                self._works = {job.name: self._works_of(connection, job) for job in self._jobs(connection)}
        except PenstockError as error:
            _log.warning("changes of jobs are not seen: %s", error)
            self.refused = told
            return
        self._follow()
        for job, refusal in self.refused.items():
            if str(told.get(job)) != str(refusal):
                _log.error("job %s is not run as it is in the database: %s", job, refusal)

    def _follow(self) -> None:
        """Keep the queries whose work is still wanted, and create queries for new works."""
        wanted = [work for works in self._works.values() for work in works]
        kept = [(work, query) for work, query in self._queries if work in wanted]
        known = [work for work, _ in kept]
        self._queries = [*kept, *self._made([work for work in wanted if work not in known])]

    def _jobs(self, connection: Connection) -> list[Job]:
        active = [job for job in list_jobs(connection) if job.is_active]
        wanted = set(self._wanted)
        return [job for job in active if not wanted or wanted & {job.name, str(job.job_id)}]

    def _works_of(self, connection: Connection, job: Job) -> list[Work]:
        try:
            return works_of(connection, job, self._own_cluster)
        except Terminal as error:
            self.refused[job.name] = error
            return self._works.get(job.name, [])

    def _made(self, works: Sequence[Work]) -> list[tuple[Work, Query]]:
        made = []
        for work in works:
            try:
                made.append((work, self._query_of(work)))
            except PenstockError as error:
                self.refused[work.name] = error
        return made


def require_jobs(database: Database, wanted: Sequence[str], own_cluster: str = "") -> None:
    """Check that all wanted jobs exist and at least one can run. Raise ConfigError with all problems."""
    problems: list[Problem] = []
    with database.transaction() as connection:
        jobs = [find_job(connection, job) for job in wanted] or list_jobs(connection)
        for job in jobs:
            try:
                works_of(connection, job, own_cluster)
            except ConfigError as error:
                problems += error.problems
            else:
                return
    if problems:
        raise ConfigError(problems)


def paused_jobs(database: Database, wanted: Sequence[str]) -> list[Job]:
    """Return the wanted jobs that are paused. Without wanted jobs, return all jobs if all are paused."""
    with database.transaction() as connection:
        jobs = [find_job(connection, job) for job in wanted] or list_jobs(connection)
    paused = [job for job in jobs if not job.is_active]
    return paused if wanted or len(paused) == len(jobs) else []
