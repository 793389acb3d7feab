"""Implementation of `penstock run` for data pipelines."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock.cli.catalog_telling import told_to_catalog
from penstock.cli.options import loaded_settings
from penstock.cli.output import counted, err, out, show_error, text
from penstock.cli.run_files import DataOptions, SubmitTarget, given_settings
from penstock.cli.run_metrics import served_metrics
from penstock.cli.run_products import statements
from penstock.cli.run_view import shown
from penstock.cli.signals import stops_by_signal
from penstock.cli.spark_files import fetch_spark
from penstock.config.settings import LoadedSettings, Settings
from penstock.config.yaml_file import YamlFile
from penstock.errors import ConfigError, PenstockError, Problem
from penstock.pipelines.chores import doing
from penstock.pipelines.driver import Driver, open_driver
from penstock.pipelines.pipeline import Pipeline, read_pipelines
from penstock.pipelines.submit_line import Submission


def run(files: Sequence[YamlFile], wrong: Sequence[Problem], options: DataOptions) -> int:
    """Run every file's pipeline until all have ended. Return the exit code.

    A single mistake prevents all pipelines from starting. `wrong` holds the problems of unreadable files.
    """
    loaded = loaded_settings(metrics_port=options.metrics_port)
    if options.print_submit is not None:
        return _print_submit(_all(files, wrong), loaded, options.print_submit)
    if options.check:
        return _check(files, wrong, loaded.settings)
    with started_driver(_all(files, wrong), loaded.settings) as driver:
        driver.check()
        return _run(driver, loaded)


def _print_submit(pipelines: Sequence[Pipeline], loaded: LoadedSettings, target: SubmitTarget) -> int:
    jars, _ = _spark_files(pipelines, loaded.settings)
    for line in Submission(pipelines, loaded.settings, given_settings(loaded), jars, target).lines():
        out.out(line)
    return 0


def _all(files: Sequence[YamlFile], wrong: Sequence[Problem]) -> list[Pipeline]:
    """Return the pipelines of all files. Raise ConfigError if any file has a mistake."""
    pipelines, mistakes = _readable(files)
    if wrong or mistakes:
        raise ConfigError([*wrong, *mistakes])
    return pipelines


def _check(files: Sequence[YamlFile], unreadable: Sequence[Problem], settings: Settings) -> int:
    """Report every mistake. Readable files are also checked against Spark and the cluster."""
    pipelines, mistakes = _readable(files)
    wrong = [*unreadable, *mistakes]
    try:
        if pipelines:
            with started_driver(pipelines, settings) as driver:
                driver.check()
    except ConfigError as error:
        wrong += error.problems
    except PenstockError:
        # A system that is unavailable must not hide the problems found so far.
        if wrong:
            show_error(ConfigError(wrong))
        raise
    if wrong:
        raise ConfigError(wrong)
    err.print(f"{counted(len(pipelines), 'pipeline')} checked, nothing is wrong")
    return 0


def _readable(files: Sequence[YamlFile]) -> tuple[list[Pipeline], list[Problem]]:
    """Return the individually valid pipelines, and the problems of the rest or between files."""
    try:
        return read_pipelines(files), []
    except ConfigError as error:
        return [pipeline for file in files for pipeline in _alone(file)], error.problems


def _alone(file: YamlFile) -> list[Pipeline]:
    try:
        return read_pipelines([file])
    except ConfigError:
        return []


@contextmanager
def started_driver(pipelines: Sequence[Pipeline], settings: Settings) -> Iterator[Driver]:
    """Open a driver for these pipelines. Missing jars are downloaded."""
    jars, java_home = _spark_files(pipelines, settings)
    err.print("starting Spark")
    with open_driver(pipelines, settings, java_home=java_home, jars=jars) as driver:
        yield driver


def _spark_files(pipelines: Sequence[Pipeline], settings: Settings) -> tuple[list[Path], Path]:
    return fetch_spark(settings, frozenset().union(*(pipeline.jars(settings) for pipeline in pipelines)))


def _run(driver: Driver, loaded: LoadedSettings) -> int:
    runner, stop = driver.runner(), threading.Event()
    own = told_to_catalog(lambda: statements(driver.products()), loaded)
    metrics = served_metrics(runner.vitals, loaded.settings.metrics_port)
    with stops_by_signal(stop), metrics, shown(runner.vitals), own, doing(driver.chores()):
        failures = runner.run(stop)
    for query, error in failures.items():
        err.print(f"[bold]{text(query)}[/] stopped, and stays down until it is mended and started again")
        show_error(error)
    if not failures:
        err.print("ended; all progress is kept")
    return 1 if failures else 0
