"""Spark session with the given Java and jars: quiet, in UTC, and tuned for two cores."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pyspark
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from penstock.config.secrets import PassThrough
from penstock.errors import QueryFailed
from penstock.spark.launch import refuse_secrets_of_executors, start_java

_LOGGING = Path(__file__).with_name("log4j2.properties")
_DELTA = "delta-spark"
_BARE_FILES = "hadoop-bare-naked-local-fs"
_SECRETS = "(?i)secret|password|token|access[.]key|credential|jaas|ssl[.].*key"

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_COLLECTOR = r"-XX:\+Use\w+GC\b"
_FOR_THROUGHPUT = "-XX:+UseParallelGC"
"""G1, Java's default, works concurrently to keep pauses short: on few cores, this is a seventh of all work."""

_DEFAULTS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.redaction.regex": _SECRETS,
    # Queries share the cores: a quick query does not wait for all tasks of another query's large batch.
    "spark.scheduler.mode": "FAIR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Kafka is written through version 2 of Spark's data sources: only version 2 reports observed counts.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    # Java never compiles methods larger than 8000 bytes: a larger whole-stage method would stay interpreted.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # One merge generates a hundred classes: with Spark's default of 100, every batch would recompile all of them.
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    # Limit the history for Spark's UI, which is disabled by default: a driver runs for months.
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "10000",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # The ledger commits a batch, so tasks may move their files into place immediately.
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # No checksum files, which other readers of a table do not know; see also `_without_checksums`.
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}

_FIXED: Mapping[str, str] = {
    # Values, names and paths are inserted into SQL literally: no variable replaces `${…}` in them.
    "spark.sql.variable.substitute": "false",
}
"""Options that a user cannot override."""

_LOCAL_DEFAULTS: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
}

_BARE_FILES_DEFAULTS: Mapping[str, str] = {
    # Hadoop's local file system starts a `chmod` process for every directory and file of a checkpoint.
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

_DELTA_DEFAULTS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Every commit computes the state of the log: with the few files of a table, each additional task costs time.
    "spark.databricks.delta.snapshotPartitions": "1",
    # The source of a merge is checkpointed already, so Delta does not need a copy.
    "spark.databricks.delta.merge.materializeSource": "none",
}


def start_session(
    name: str,
    *,
    java_home: Path,
    jars: Sequence[Path],
    conf: Mapping[str, object] | None = None,
    master: str = "local[*]",
) -> SparkSession:
    """Start Spark with the given jars and Java; `conf` overrides Penstock's defaults."""
    _quieten()
    options = session_options(jars, PassThrough(conf or {}), master)
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in options.items():
        builder = builder.config(key, value)
    try:
        with _environment(java_home, is_local=master.startswith("local")):
            start_java({"spark.master": master, "spark.app.name": name, **options})
            return _without_checksums(builder.getOrCreate())
    except RuntimeError as error:
        raise QueryFailed(f"Spark does not start: {error}", hint="see the lines above from Java") from error


def session_options(jars: Iterable[Path], conf: Mapping[str, object], master: str) -> dict[str, str]:
    """Return all session options: defaults, options for this master and these jars, the user's, then fixed options."""
    paths = [str(jar) for jar in jars if artifact(jar) not in _shipped()]
    is_local = master.startswith("local")
    options = {
        **_DEFAULTS,
        **(_LOCAL_DEFAULTS if is_local else {}),
        **(_BARE_FILES_DEFAULTS if is_local and any(_BARE_FILES in path for path in paths) else {}),
        **(_DELTA_DEFAULTS if any(_DELTA in path for path in paths) else {}),
        **_jar_options(paths, is_local=is_local),
        **{key: _text(value) for key, value in conf.items()},
        **_FIXED,
        _JAVA_OPTIONS: _java_options(str(conf.get(_JAVA_OPTIONS, "")), is_local=is_local),
    }
    if not is_local:
        refuse_secrets_of_executors(options)
    return options


def _quieten() -> None:
    """Silence PySpark's JSON dumps and Py4J's traces of failures; Penstock logs each failure in a single line."""
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _without_checksums(session: SparkSession) -> SparkSession:
    """Disable checksums of Hadoop's local files.

    Replacing the local file system class instead would break S3, whose client buffers blocks in local files.
    """
    conf = session._jsc.hadoopConfiguration()  # noqa: SLF001 - PySpark has no public way to Hadoop's settings
    local = session._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf)  # type: ignore[union-attr]  # noqa: SLF001 - as above
    local.setWriteChecksum(False)
    local.setVerifyChecksum(False)
    return session


def artifact(jar: Path) -> str:
    """Return a jar's name without its version."""
    return re.split(r"-\d", jar.name, maxsplit=1)[0]


@cache
def _shipped() -> frozenset[str]:
    """Return the jars shipped with Spark: a second version on the class path would conflict."""
    return frozenset(artifact(jar) for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar"))


def _jar_options(paths: Sequence[str], *, is_local: bool) -> dict[str, str]:
    """Return the jar options: a local driver reads jars in place, a cluster sends jars to the executors."""
    return {"spark.driver.extraClassPath": ":".join(paths)} if is_local else {"spark.jars": ",".join(paths)}


def _java_options(given: str, *, is_local: bool) -> str:
    """Return Penstock's Java options, then the user's; a garbage collector chosen by the user replaces the default."""
    quiet = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
    own = [quiet] if re.search(_COLLECTOR, given) or not is_local else [quiet, _FOR_THROUGHPUT]
    return " ".join([*own, given]).strip()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def _environment(java_home: Path, *, is_local: bool) -> Iterator[None]:
    """Set the environment variables of Spark's launcher for the block; a cluster must reach the driver."""
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python} if is_local else {}
    wanted = {"JAVA_HOME": str(java_home), **own, **_utf8_names(os.environ)}
    before = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})


def _utf8_names(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the locale for Java, which derives the encoding of file names from the locale.

    In a locale without UTF-8, `ü` and `ö` would become `?`.
    """
    names = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    chosen = next(filter(None, names), "")
    return {} if re.search(r"utf-?8", chosen, re.IGNORECASE) else {"LC_ALL": "C.UTF-8"}
