"""Which queries run when the jobs in the database change; the queries themselves do nothing here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.catalog.database import Database
from penstock.catalog.jobs import roster as rosters
from penstock.catalog.jobs.roster import Roster, paused_jobs, require_jobs
from penstock.catalog.jobs.store import save_job, set_active
from penstock.catalog.jobs.work import Work
from penstock.config import Settings
from penstock.errors import ConfigError
from penstock.spark.queries.observing import Counts
from penstock.spark.queries.position import Position
from penstock.spark.queries.runner import Runner
from tests.catalog_messages import job_properties

LOADS = ("GobblinTrackingCompactionProcessor", "stg_kafka_gobblin_compaction")
SNAPSHOTS = ("GobblinTrackingLumosProcessor", "stg_kafka_gobblin_lumos")


class Idle:
    """A query that does nothing, and notes whether it was started and stopped."""

    def __init__(self, work: Work, settings: Settings) -> None:
        self.work = work
        self.state = "new"
        self.position, self.counts, self.batches = Position({}, {}), Counts(0, 0), 0
        self.underway, self.last_batch = 0, None
        name, source = work.route.topic, SimpleNamespace(settings=settings, topics=(work.route.topic,))
        self.spec: Any = SimpleNamespace(
            pipeline=work.pipeline, sink=name, name=name, source=source, seen_in=work.spec.group, owner=""
        )

    @property
    def is_active(self) -> bool:
        return self.state == "started"

    def start(self) -> None:
        self.state = "started"

    def stop(self) -> None:
        self.state = "stopped"

    def begin_no_batch(self) -> None: ...


class Jobs:
    """A runner at work on the jobs of a database."""

    def __init__(self, database: Database, settings: Settings, *wanted: str) -> None:
        self.made: list[Idle] = []
        self.database = database
        self._settings = settings
        self.roster = Roster(database, wanted, self._query)
        self.runner = Runner(roster=self.roster)

    def _query(self, work: Work) -> Any:
        self.made.append(Idle(work, self._settings))
        return self.made[-1]

    def save(self, job: str, routes: Mapping[str, tuple[str, str]]) -> None:
        with self.database.transaction() as connection:
            save_job(connection, job, job_properties(job, routes))

    def states(self) -> list[tuple[str, str, str]]:
        """The topic, the table and the state of every query that was ever made."""
        return [(query.work.route.topic, query.work.route.table[10:], query.state) for query in self.made]

    def until(self, *states: tuple[str, str, str]) -> None:
        give_up = time.monotonic() + 20
        while self.states() != list(states):
            assert time.monotonic() < give_up, self.states()
            time.sleep(0.05)


@pytest.fixture
def run(database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Jobs]:
    """Start a runner for these jobs; it ends with the test."""
    monkeypatch.setattr(rosters, "_LOOK_SECONDS", 0.1)
    return lambda *wanted: Jobs(database, settings, *wanted)


def test_only_the_queries_of_topics_that_changed_are_stopped_and_started(run: Callable[..., Jobs]) -> None:
    jobs, stop = run(), threading.Event()
    thread = threading.Thread(target=jobs.runner.run, args=(stop,))
    thread.start()
    try:
        jobs.save("a", {"t1": LOADS, "t2": LOADS})
        jobs.until(("t1", "gobblin_compaction", "started"), ("t2", "gobblin_compaction", "started"))
        jobs.save("a", {"t1": LOADS, "t2": SNAPSHOTS})
        now = ("t1", "gobblin_compaction", "started"), ("t2", "gobblin_compaction", "stopped")
        jobs.until(*now, ("t2", "gobblin_lumos", "started"))
        jobs.save("b", {"t3": LOADS})
        jobs.until(*now, ("t2", "gobblin_lumos", "started"), ("t3", "gobblin_compaction", "started"))
        with jobs.database.transaction() as connection:
            connection.execute("DELETE FROM etl_job WHERE job_name = 'a'")
            connection.execute("UPDATE etl_job SET is_active = false WHERE job_name = 'b'")
        gone = ("t1", "gobblin_compaction", "stopped"), ("t2", "gobblin_compaction", "stopped")
        jobs.until(*gone, ("t2", "gobblin_lumos", "stopped"), ("t3", "gobblin_compaction", "stopped"))
    finally:
        stop.set()
        thread.join()


def test_a_change_that_could_not_run_is_told_and_the_job_goes_on_as_it_was(run: Callable[..., Jobs]) -> None:
    jobs = run("a")
    jobs.save("a", {"t1": LOADS})
    jobs.save("b", {"t2": LOADS})
    [query] = jobs.roster()
    jobs.save("a", {"t1": ("NoProcessor", "nowhere")})
    time.sleep(0.15)
    assert jobs.roster() == [query]
    assert "there is no processor NoProcessor" in str(jobs.roster.refused["a"])
    jobs.save("a", {"t1": LOADS})
    time.sleep(0.15)
    assert (jobs.roster(), jobs.roster.refused) == ([query], {})


def test_a_job_whose_processor_is_broken_leaves_the_others_running(
    run: Callable[..., Jobs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_processor.py").write_text("class Broken(")
    monkeypatch.syspath_prepend(tmp_path)
    jobs = run()
    jobs.save("bad", {"t1": ("broken_processor:Broken", LOADS[1])})
    jobs.save("good", {"t2": LOADS})
    [query] = jobs.roster()
    assert query.spec.name == "t2"
    assert "cannot be imported: SyntaxError" in str(jobs.roster.refused["bad"])


def test_a_process_begins_if_one_of_its_jobs_could_run(database: Database, run: Callable[..., Jobs]) -> None:
    jobs = run()
    require_jobs(database, [])
    jobs.save("broken", {"t1": ("NoProcessor", "nowhere")})
    with pytest.raises(ConfigError, match="there is no processor NoProcessor"):
        require_jobs(database, ["broken"])
    jobs.save("a", {"t1": LOADS})
    require_jobs(database, ["broken", "a"])


def test_jobs_that_are_paused_are_known_where_somebody_waits_for_them(
    database: Database, run: Callable[..., Jobs]
) -> None:
    def paused(*wanted: str) -> list[str]:
        return [job.name for job in paused_jobs(database, wanted)]

    jobs = run()
    for name in ("a", "b"):
        jobs.save(name, {f"t-{name}": LOADS})
    with database.transaction() as connection:
        set_active(connection, "a", is_active=False)
    assert (paused("a", "b"), paused("b"), paused()) == (["a"], [], [])
    with database.transaction() as connection:
        set_active(connection, "b", is_active=False)
    assert paused() == ["a", "b"]
