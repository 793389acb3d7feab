"""One driver: a Spark session, and the queries of all pipelines that run in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.errors import ConfigError, Problem, QueryFailed
from penstock.pipelines.build import Builder
from penstock.pipelines.check import check_pipeline
from penstock.pipelines.pipeline import Pipeline
from penstock.pipelines.tables import by_table
from penstock.spark.runner import Runner
from penstock.spark.session import start_session


@dataclass(frozen=True)
class Driver:
    """Checks and runs pipelines in one session."""

    session: SparkSession
    pipelines: Sequence[Pipeline]
    settings: Settings

    def check(self) -> None:
        """Find every mistake without starting a query; a ConfigError has those of all files."""
        problems = [problem for builder in self._builders() for problem in check_pipeline(builder)]
        if problems:
            raise ConfigError(problems)

    def runner(self) -> Runner:
        """What runs the queries of all pipelines."""
        return Runner([query for builder in self._builders() for query in builder.queries()])

    def _builders(self) -> Iterator[Builder]:
        each = (table for pipeline in self.pipelines for table in by_table(pipeline, self.settings))
        return (Builder(pipeline, self.session, self.settings) for pipeline in each)


@contextmanager
def open_driver(
    pipelines: Sequence[Pipeline], settings: Settings, *, java_home: Path, jars: Sequence[Path]
) -> Iterator[Driver]:
    """A driver with a session as the files want it; a session that the process has already is used, and stays."""
    running = SparkSession.getActiveSession()
    session = running or start_session(
        " ".join(pipeline.spec.name for pipeline in pipelines),
        java_home=java_home,
        jars=jars,
        conf=spark_conf(pipelines, settings),
        master=spark_master(pipelines),
    )
    try:
        yield Driver(session, pipelines, settings)
        if running is None:
            session.stop()
    except (Py4JNetworkError, ConnectionRefusedError) as error:
        hint = "was it killed, or out of memory? raise spark.driver.memory; a new start goes on where this one was"
        raise QueryFailed("the Java process of Spark is gone", hint=hint) from error


def spark_master(pipelines: Sequence[Pipeline]) -> str:
    """Where Spark runs, on which all files of one driver have to agree."""
    first, *others = pipelines
    master = first.spec.spark.master
    problems = [
        Problem(
            other.file.place(("spark", "master")),
            f"spark.master: {first.file.path} says {master}",
            "one driver has one master",
        )
        for other in others
        if other.spec.spark.master != master
    ]
    if problems:
        raise ConfigError(problems)
    return master


def spark_conf(pipelines: Sequence[Pipeline], settings: Settings) -> Mapping[str, object]:
    """Spark's settings for all files, which must not contradict each other; S3 is as the settings have it."""
    merged: dict[str, object] = {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.s3.items()}
    first: dict[str, Pipeline] = {}
    problems: list[Problem] = []
    for pipeline in pipelines:
        for name, value in pipeline.spec.spark.conf.items():
            other = first.setdefault(name, pipeline)
            if other.spec.spark.conf[name] != value:
                place = pipeline.file.place(("spark", "conf", name))
                problems.append(Problem(place, f"spark.conf.{name}: {other.file.path} has another value"))
            merged[name] = value
    if problems:
        raise ConfigError(problems)
    return merged
