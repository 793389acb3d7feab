"""Entry point for `spark-submit`: run the pipelines of the given files in the session created by `spark-submit`.

    spark-submit … submit.py FILE…

`penstock run --print-submit` prints the complete line. Settings come from the driver's environment, `PENSTOCK_*`.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.config import load_settings
from penstock.config.yaml_file import read_yaml
from penstock.errors import PenstockError
from penstock.pipelines.chores import doing
from penstock.pipelines.driver import Driver
from penstock.pipelines.pipeline import read_pipelines

_log = logging.getLogger("penstock.submit")


def main(names: Sequence[str]) -> int:
    """Run the files until they end or SIGTERM arrives. Return the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    stop = threading.Event()
    try:
        pipelines = read_pipelines([read_yaml(Path(name), os.environ) for name in names])
        driver = Driver(SparkSession.builder.getOrCreate(), pipelines, load_settings().settings)
        driver.check()
        signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
        with doing(driver.chores()):
            failures = driver.runner().run(stop)
    except PenstockError as error:
        _log.error("%s %s %s", error.code, error.message, error.hint)
        return error.exit_code
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
