"""Maintenance of change tables while streams run: compact small files and remove old ones.

A compaction is a single commit in Delta's log, so readers see the table before or after the compaction. If a stream
changed the affected files meanwhile, the compaction fails and is retried at the next maintenance. If a compaction was
faster than a stream, the stream writes its batch again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import SparkSession

from penstock.spark.changes.memory import memory_path
from penstock.spark.failures import spark_failures
from penstock.spark.hadoop_files import files_at
from penstock.spark.lake.delta_log import is_delta_table
from penstock.spark.lake.table import LakeTable

_LARGEST = "spark.databricks.delta.optimize.maxFileSize"
_SMALLEST = "spark.databricks.delta.optimize.minFileSize"
_SETTINGS = {
    # By default, VACUUM ignores the hours in the statement and takes the table's shorter retention of old versions.
    "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled": "false",
    # By default, ten thousand tasks list the directories, however few exist.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}
_FILES = "delta.deletedFileRetentionDuration"
_LOG = "delta.logRetentionDuration"
_LOG_HOURS = 30 * 24
_BATCH_HOURS = 24
"""No batch takes longer. VACUUM cannot tell the files of a batch in progress from files of a killed driver."""


@dataclass(frozen=True)
class Upkeep:
    """Maintains tables. Files needed by readers of the last `keep_hours` are kept, and all files of the last day."""

    session: SparkSession
    keep_hours: int

    def tidy(self, table: LakeTable) -> None:
        """Compact the small files of a table, and remove files that no reader needs."""
        session = self._own_session(table.target_bytes)
        for path in self._paths(table):
            with spark_failures(f"compacting table {table.name}"):
                self._set_retention(session, path)
                session.sql(f"OPTIMIZE {path}")
                session.sql(f"VACUUM {path} RETAIN {max(self.keep_hours, _BATCH_HOURS)} HOURS")

    def _own_session(self, target_bytes: int) -> SparkSession:
        """Return a Spark session with separate settings, invisible to the streams."""
        session = self.session.newSession()
        for name, value in {**_SETTINGS, _LARGEST: str(target_bytes), _SMALLEST: str(target_bytes)}.items():
            session.conf.set(name, value)
        return session

    def _paths(self, table: LakeTable) -> Iterator[str]:
        files = files_at(table.lake, self.session)
        for path in (table.path, memory_path(table)):
            if is_delta_table(files, path):
                yield "delta.`{}`".format(path.replace("`", "``"))

    def _set_retention(self, session: SparkSession, path: str) -> None:
        """Let the log list removed files for as long as the files exist: unlisted files count as garbage."""
        [(properties,)] = session.sql(f"DESCRIBE DETAIL {path}").select("properties").collect()
        wanted = {_FILES: self.keep_hours, _LOG: max(self.keep_hours, _LOG_HOURS)}
        texts = {name: f"interval {hours} hours" for name, hours in wanted.items()}
        if any(properties.get(name) != text for name, text in texts.items()):
            pairs = ", ".join(f"'{name}' = '{text}'" for name, text in texts.items())
            session.sql(f"ALTER TABLE {path} SET TBLPROPERTIES ({pairs})")
