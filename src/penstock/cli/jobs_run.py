"""Implementation of `penstock jobs run`."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from penstock.catalog.database import Database
from penstock.catalog.jobs.roster import Roster, paused_jobs, require_jobs
from penstock.catalog.jobs.workshop import Workshop, open_workshop
from penstock.catalog.telling.teller import Teller
from penstock.cli.output import err, show_error, text
from penstock.cli.run_metrics import served_metrics
from penstock.cli.run_view import shown
from penstock.cli.signals import stops_by_signal
from penstock.cli.spark_files import fetch_spark
from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.spark.queries.runner import Runner

_CONNECTIONS = 8
"""Limit on connections. Batches of many topics take turns, because merges take turns anyway."""

_TURN_SECONDS = 0.0005
"""Interpreter switch interval.

A batch makes hundreds of Java calls; each answer waits for the relay up to this long.
"""

_NEW_OBJECTS = 20_000
"""Threshold for garbage collection: the relay creates thousands of short-lived objects."""

_PATIENCE_SECONDS = 5.0
"""Timeout for reading the jobs. The runner must also send heartbeats and react to signals."""


def run(wanted: Sequence[str], chosen: Settings) -> int:
    """Run the jobs until stopped, or until all have failed. Return the exit code."""
    hasty = chosen.model_copy(update={"timeout": min(chosen.timeout, _PATIENCE_SECONDS)})
    with Database(chosen, size=_CONNECTIONS) as database, Database(hasty, size=1) as looking:
        require_jobs(looking, wanted, chosen.bootstrap)
        for job in paused_jobs(looking, wanted):
            resume = f"`penstock jobs resume {text(job.name)}`"
            err.print(f"job {job.job_id} [bold]{text(job.name)}[/] is paused; {resume} lets it run")
        with workshop(database, chosen) as shop:
            return _run(Roster(looking, wanted, shop.query, chosen.bootstrap), Teller(database, chosen), chosen)


@contextmanager
def workshop(database: Database, chosen: Settings) -> Iterator[Workshop]:
    """Open Spark with the jars for Kafka, downloaded once."""
    jars, java_home = fetch_spark(chosen, {"spark"})
    err.print("starting Spark")
    with open_workshop(database, chosen, java_home=java_home, jars=jars) as opened:
        yield opened


def _run(roster: Roster, teller: Teller, chosen: Settings) -> int:
    _tune_interpreter()
    runner, stop = Runner(roster=roster), threading.Event()
    with stops_by_signal(stop), served_metrics(runner.vitals, chosen.metrics_port), shown(runner.vitals), teller:
        stopped = runner.run(stop)
    for query, error in stopped.items():
        _tell(f"[bold]{text(query)}[/] stopped, and stays down until its job is changed or started again", error)
    for job, error in roster.refused.items():
        _tell(f"job [bold]{text(job)}[/] was not run as it is in the database", error)
    if teller.failure:
        _tell("changes wait in the outbox, and are not told", teller.failure)
    if stopped or roster.refused or teller.failure:
        return 1
    err.print("ended; all progress is kept")
    return 0


def _tune_interpreter() -> None:
    """Tune the interpreter: a thread creates many messages next to threads waiting for Spark."""
    sys.setswitchinterval(_TURN_SECONDS)
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)


def _tell(what: str, error: PenstockError) -> None:
    err.print(what)
    show_error(error)
