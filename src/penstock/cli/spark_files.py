"""Runtime files of Spark: jars, downloaded once, and Java."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from penstock.cli.stack_view import shown_download
from penstock.config import Settings
from penstock.local.jars import JarCache
from penstock.local.java import spark_java_home


def fetch_spark(chosen: Settings, parts: Collection[str]) -> tuple[list[Path], Path]:
    """Return the jars for these parts of the lock, and the JAVA_HOME for Spark."""
    cache, named = JarCache.from_settings(chosen), sorted(parts)
    with shown_download() as show:
        cache.fetch(named, show)
    return [jar for part in named for jar in cache.classpath(part)], spark_java_home(chosen.cache / "spark-java")
