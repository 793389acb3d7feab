"""Keeping tables of changes quick to read while their streams run: small files are merged, old ones removed.

A merge of files is one commit of Delta's log, so readers see the table before or after it. It loses against a stream
that changed the same files meanwhile, and is tried again at the next time; a stream that loses writes its batch again.
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
    # Files of a batch that is being written are younger than any time that can be set.
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # Directories are listed by ten thousand tasks otherwise, however few there are.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}
_FILES = "delta.deletedFileRetentionDuration"
_LOG = "delta.logRetentionDuration"
_LOG_HOURS = 30 * 24


@dataclass(frozen=True)
class Upkeep:
    """Looks after tables; files that a reader of the last `keep_hours` may need stay."""

    session: SparkSession
    keep_hours: int

    def tidy(self, table: LakeTable) -> None:
        """Merge the small files of a table, and remove those that no reader needs any more."""
        session = self._own_session(table.target_bytes)
        for path in self._paths(table):
            with spark_failures(f"compacting table {table.name}"):
                self._set_retention(session, path)
                session.sql(f"OPTIMIZE {path}")
                session.sql(f"VACUUM {path} RETAIN {self.keep_hours} HOURS")

    def _own_session(self, target_bytes: int) -> SparkSession:
        """Spark with settings of its own, which no stream sees."""
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
        """Let the log remember removed files for as long as they stay: by it they are told from rubbish."""
        [(properties,)] = session.sql(f"DESCRIBE DETAIL {path}").select("properties").collect()
        wanted = {_FILES: self.keep_hours, _LOG: max(self.keep_hours, _LOG_HOURS)}
        texts = {name: f"interval {hours} hours" for name, hours in wanted.items()}
        if any(properties.get(name) != text for name, text in texts.items()):
            pairs = ", ".join(f"'{name}' = '{text}'" for name, text in texts.items())
            session.sql(f"ALTER TABLE {path} SET TBLPROPERTIES ({pairs})")
