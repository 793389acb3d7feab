"""Start Spark's Java process without options on a command line, where every user of the machine could read them.

PySpark passes options as `--conf` to `spark-submit`, and Spark passes Java options to `java`. Here, both read the
options from private files, which are removed after the process has started.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark import SparkContext

from penstock.config.java_properties import properties_text
from penstock.config.secrets import hide
from penstock.errors import UsageError

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_SHELL = "pyspark-shell"
_PROPERTIES_FILE = "--properties-file"
_DRIVER_JAVA = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_EXECUTOR_JAVA = ("spark.executor.defaultJavaOptions", "spark.executor.extraJavaOptions")


def start_java(options: Mapping[str, str]) -> None:
    """Start the driver's Java process with these options, unless this process already has one."""
    before = os.environ.get(_ARGUMENTS)
    with read_by_launcher(options) as arguments:
        os.environ[_ARGUMENTS] = arguments
        try:
            SparkContext._ensure_initialized()  # noqa: SLF001 - the public way puts every option on the command line
        finally:
            os.environ.pop(_ARGUMENTS) if before is None else os.environ.update({_ARGUMENTS: before})


@contextmanager
def read_by_launcher(options: Mapping[str, str]) -> Iterator[str]:
    """Yield the arguments with which `spark-submit` reads these options from a file that exists during the block."""
    given = os.environ.get(_ARGUMENTS, _SHELL)
    if _PROPERTIES_FILE in given:
        hint = "name its options under spark.conf of the pipeline, or in conf/spark-defaults.conf of SPARK_HOME"
        raise UsageError(f"{_PROPERTIES_FILE} in {_ARGUMENTS} is not supported", hint=hint)
    with TemporaryDirectory(prefix="penstock-spark-") as name:
        directory = Path(name)
        java = {key: _moved(options[key], directory / key) for key in _DRIVER_JAVA if options.get(key)}
        file = directory / "spark.properties"
        _write(file, properties_text({**options, **java}))
        yield f"{_PROPERTIES_FILE} {shlex.quote(str(file))} --load-spark-defaults {given}"


def refuse_secrets_of_executors(options: Mapping[str, str]) -> None:
    """Raise UsageError if the Java options of executors contain a secret.

    A cluster starts executors with the Java options on the command line. Java also accepts options from the
    environment, but repeats them in the log.
    """
    for key in _EXECUTOR_JAVA:
        for name in (word.partition("=")[0] for word in shlex.split(options.get(key, "")) if _is_secret(word)):
            raise UsageError(
                f"{key}: every user of a worker's machine could read {name}",
                hint="give executors the secret as spark.executorEnv.NAME, a variable of their environment",
            )


def _is_secret(word: str) -> bool:
    name, _, value = word.partition("=")
    return hide(name, value) != value


def _moved(java_options: str, file: Path) -> str:
    """Write Java's system properties to a file, and return options that refer to the file instead."""
    words = shlex.split(java_options)
    properties = [word for word in words if word.startswith("-D")]
    escaped = (word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for word in properties)
    _write(file, "".join(f'"{word}"\n' for word in escaped))
    return shlex.join([f"@{file}", *(word for word in words if word not in properties)])


def _write(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
