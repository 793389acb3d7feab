"""One Spark for the whole run of tests: starting it takes seconds, and a process can have only one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.config import load_settings
from penstock.local.jars import JarCache
from penstock.local.java import spark_java_home
from penstock.spark.session import start_session

PARTS = ("spark", "delta", "s3a")
QUICK_START = {
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": False,
    "spark.sql.shuffle.partitions": 1,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=384m -XX:+UseSerialGC",
}
"""Tests run each query a few times only, over a few rows: compiling it, planning it anew after each of its shuffles,
sending those rows to several tasks, and then compiling Java's own code, costs twice what it saves.

There are many queries, though, and by default such a Java has room for 48 MB of code. Pipelines that tests start as
users do, from the examples, the documents and the demo, run with code that is compiled.
"""


def spark_jars() -> list[Path]:
    """The jars that Spark needs for everything, downloaded if they are missing."""
    cache = JarCache.from_settings(load_settings(env={}).settings)
    cache.fetch(PARTS)
    return [jar for part in PARTS for jar in cache.classpath(part)]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark with two cores."""
    java_home = spark_java_home(tmp_path_factory.mktemp("java"))
    conf = {
        **QUICK_START,
        "spark.driver.memory": "1g",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    session = start_session("tests", java_home=java_home, jars=spark_jars(), conf=conf, master="local[2]")
    yield session
    session.stop()
