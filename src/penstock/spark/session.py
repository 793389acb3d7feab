"""The Spark session: made from the Java and the jars that the caller found, quiet, in UTC, and fit for two cores."""

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
"""Java's own choice, G1, works beside the tasks to pause them briefly: on few cores a seventh of all work."""

_DEFAULTS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.redaction.regex": _SECRETS,
    # Queries share the cores: a quick one does not wait for all tasks of another one's large batch.
    "spark.scheduler.mode": "FAIR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Kafka is written through the second version of Spark's sources, which alone reports observed counts.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    # Java never compiles a method beyond 8000 bytes of code: one of a whole stage would be interpreted for ever.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # One merge alone has a hundred pieces of code: with Spark's own 100, every batch would compile all of them anew.
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    # What Spark remembers of past work, for pages that nobody sees: a driver runs for months.
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "10000",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # A batch is committed by the ledger, so its tasks may put their files in place at once.
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # Without the side files of checksums, which no other reader of a table knows; see also `_without_checksums`.
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}

_FIXED: Mapping[str, str] = {
    # Values, names and paths that reach SQL as text are what they are: `${…}` in them is replaced by nothing.
    "spark.sql.variable.substitute": "false",
}
"""What no option of the user changes."""

_LOCAL_DEFAULTS: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
}

_BARE_FILES_DEFAULTS: Mapping[str, str] = {
    # Hadoop's own local files start a process, `chmod`, for every directory and every file of a checkpoint.
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

_DELTA_DEFAULTS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # What a log says is worked out with every commit: for the few files of a table, each further task costs a moment.
    "spark.databricks.delta.snapshotPartitions": "1",
    # What we merge is made and kept before, so Delta need not make a copy of it.
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
    """Start Spark with these jars on the given Java; `conf` wins over every default of ours."""
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
    """Every option of the session: ours, those for this master and these jars, then the user's."""
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
    """PySpark prints every failure as a screenful of JSON, Py4J as a trace; ours says the same in a line."""
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _without_checksums(session: SparkSession) -> SparkSession:
    """Tell Hadoop's local files; another class in their place would break S3's, which keep blocks in local files."""
    conf = session._jsc.hadoopConfiguration()  # noqa: SLF001 - PySpark has no public way to Hadoop's settings
    local = session._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf)  # type: ignore[union-attr]  # noqa: SLF001 - as above
    local.setWriteChecksum(False)
    local.setVerifyChecksum(False)
    return session


def artifact(jar: Path) -> str:
    """A jar's name without its version."""
    return re.split(r"-\d", jar.name, maxsplit=1)[0]


@cache
def _shipped() -> frozenset[str]:
    """What Spark brings itself: another version of it on the class path would stand in Spark's own way."""
    return frozenset(artifact(jar) for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar"))


def _jar_options(paths: Sequence[str], *, is_local: bool) -> dict[str, str]:
    """A local driver takes its jars where they are; on a cluster they travel to the executors."""
    return {"spark.driver.extraClassPath": ":".join(paths)} if is_local else {"spark.jars": ",".join(paths)}


def _java_options(given: str, *, is_local: bool) -> str:
    """Java's options: ours, then the user's, whose garbage collector is the only one if they name one."""
    quiet = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
    own = [quiet] if re.search(_COLLECTOR, given) or not is_local else [quiet, _FOR_THROUGHPUT]
    return " ".join([*own, given]).strip()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def _environment(java_home: Path, *, is_local: bool) -> Iterator[None]:
    """What Spark's launcher reads from the environment, for as long as it starts; a cluster must reach its driver."""
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
    """Java takes the encoding of file names from the locale; where that knows no UTF-8, `ü` and `ö` would be `?`."""
    names = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    chosen = next(filter(None, names), "")
    return {} if re.search(r"utf-?8", chosen, re.IGNORECASE) else {"LC_ALL": "C.UTF-8"}
