"""Driver: a Spark session running the queries of all pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.errors import ConfigError, Problem, TopicNotFound
from penstock.pipelines.build import Builder
from penstock.pipelines.change_chores import chores_of
from penstock.pipelines.check import check_pipeline
from penstock.pipelines.chores import Chore
from penstock.pipelines.discovery import Discovery, is_growing
from penstock.pipelines.findings import Findings
from penstock.pipelines.pipeline import Pipeline
from penstock.pipelines.products import Product, products_of
from penstock.pipelines.tables import by_table
from penstock.spark.open_session import java_is_there, open_session
from penstock.spark.protecting import REDACTION
from penstock.spark.queries.runner import Runner
from penstock.spark.s3a import s3a_settings


@dataclass(frozen=True)
class Driver:
    """Checks and runs pipelines in a single session."""

    session: SparkSession
    pipelines: Sequence[Pipeline]
    settings: Settings

    def check(self) -> None:
        """Find every mistake without starting a query. Raise a ConfigError with the problems of all files."""
        problems = [problem for pipeline in self.pipelines for problem in self._problems(pipeline)]
        if problems:
            raise ConfigError(problems)

    def runner(self) -> Runner:
        """Return the runner for the queries of all pipelines and of tables discovered later."""
        builders = list(self.builders())
        if not any(map(is_growing, self.pipelines)):
            return Runner([query for builder in builders for query in builder.queries()])
        return Runner(roster=Discovery(self.session, self.settings, self.pipelines, builders))

    def chores(self) -> list[Chore]:
        """Return the background chores to run during the queries."""
        return [chore for pipeline in self.pipelines for chore in chores_of(pipeline, self.session, self.settings)]

    def products(self) -> list[Product]:
        """Return the outputs of the pipelines, with the columns known so far."""
        with java_is_there():
            return [product for builder in self.builders() for product in products_of(builder)]

    def _problems(self, pipeline: Pipeline) -> list[Problem]:
        """Return the problems of a file. The file's tables are first discovered from the topics."""
        try:
            builders = list(self._builders_of(pipeline))
        except ConfigError as error:
            return error.problems
        except TopicNotFound as error:
            findings = Findings(pipeline.file)
            findings.add(("source", "config"), error.message, error.hint)
            return findings.problems
        return [problem for builder in builders for problem in check_pipeline(builder)]

    def builders(self) -> Iterator[Builder]:
        """Yield a builder for each pipeline, or for each table of a pipeline."""
        return (builder for pipeline in self.pipelines for builder in self._builders_of(pipeline))

    def _builders_of(self, pipeline: Pipeline) -> Iterator[Builder]:
        return (Builder(table, self.session, self.settings) for table in by_table(pipeline, self.settings))


@contextmanager
def open_driver(
    pipelines: Sequence[Pipeline], settings: Settings, *, java_home: Path, jars: Sequence[Path]
) -> Iterator[Driver]:
    """Open a driver with the session configured by the files. An existing session is reused and stays open."""
    name = " ".join(pipeline.spec.name for pipeline in pipelines)
    conf, master = spark_conf(pipelines, settings), spark_master(pipelines)
    with open_session(name, java_home=java_home, jars=jars, conf=conf, master=master) as session:
        yield Driver(session, pipelines, settings)


def spark_master(pipelines: Sequence[Pipeline]) -> str:
    """Return the Spark master. All files of a driver must agree."""
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
    """Merge the Spark settings of all files, which must not contradict each other. Add S3 options from the settings."""
    s3 = {f"spark.hadoop.{name}": value for name, value in s3a_settings(settings.s3).items()}
    hides = REDACTION if any(pipeline.source.protect.secret for pipeline in pipelines) else {}
    merged: dict[str, object] = {**s3, **hides}
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
