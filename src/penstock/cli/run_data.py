"""Data pipelines, run by `penstock run`."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from penstock.cli.catalog_telling import told_to_catalog
from penstock.cli.options import loaded_settings
from penstock.cli.output import counted, err, out, show_error, text
from penstock.cli.run_files import DataOptions, given_settings
from penstock.cli.run_metrics import served_metrics
from penstock.cli.run_products import statements
from penstock.cli.run_view import shown
from penstock.cli.signals import stops_by_signal
from penstock.cli.spark_files import fetch_spark
from penstock.config.settings import LoadedSettings
from penstock.config.yaml_file import YamlFile
from penstock.pipelines.chores import doing
from penstock.pipelines.driver import Driver, open_driver
from penstock.pipelines.pipeline import read_pipelines
from penstock.pipelines.submit_line import Submission


def run(files: Sequence[YamlFile], options: DataOptions) -> int:
    """Run every file's pipeline until all have ended; the exit code."""
    loaded = loaded_settings(metrics_port=options.metrics_port)
    chosen, pipelines = loaded.settings, read_pipelines(files)
    jars, java_home = fetch_spark(chosen, frozenset().union(*(pipeline.jars(chosen) for pipeline in pipelines)))
    if options.print_submit is not None:
        for line in Submission(pipelines, chosen, given_settings(loaded), jars, options.print_submit).lines():
            out.out(line)
        return 0
    err.print("starting Spark")
    with open_driver(pipelines, chosen, java_home=java_home, jars=jars) as driver:
        driver.check()
        if options.check:
            err.print(f"{counted(len(pipelines), 'pipeline')} checked, nothing is wrong")
            return 0
        return _run(driver, loaded)


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
