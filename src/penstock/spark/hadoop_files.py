"""The same file operations on whatever Hadoop can reach: `s3a://`, `hdfs://` and the like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.errors import QueryInterrupted
from penstock.spark.files import Files, FoundFile, LocalFiles, is_local


def files_at(location: str, session: SparkSession) -> Files:
    """The operations for a location: the system's own for a local path, Hadoop's for all others."""
    return LocalFiles() if is_local(location) else HadoopFiles(session, location)


class HadoopFiles:
    """Files of one Hadoop file system; on an object store a move is a copy and then a removal."""

    def __init__(self, session: SparkSession, location: str) -> None:
        self._java: Any = session._jvm  # noqa: SLF001 - PySpark has no public way to Hadoop's file systems
        self._conf: Any = session._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
        with _told(location):
            self._system = self._path(location).getFileSystem(self._conf)

    def read(self, path: str) -> bytes | None:
        """As the protocol says."""
        with _told(path):
            if not self._system.exists(self._path(path)):
                return None
            stream = self._system.open(self._path(path))
            try:
                return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def write(self, path: str, data: bytes) -> None:
        """As the protocol says: Spark's own way to write the files of its checkpoints."""
        managers = self._java.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
        with _told(path):
            target = self._path(path)
            self._system.mkdirs(target.getParent())
            stream = managers.create(target, self._conf).createAtomic(target, True)
            try:
                stream.write(data)
            except Py4JJavaError:
                stream.cancel()
                raise
            stream.close()

    def below(self, directory: str) -> list[FoundFile]:
        """As the protocol says."""
        with _told(directory):
            root = self._path(directory)
            if not self._system.exists(root):
                return []
            prefix = len(self._system.makeQualified(root).toString()) + 1
            listing = self._system.listFiles(root, True)
            found = []
            while listing.hasNext():
                status = listing.next()
                found.append(FoundFile(status.getPath().toString()[prefix:], status.getLen()))
            return sorted(found)

    def move(self, source: str, target: str) -> None:
        """As the protocol says; a target that is there is whole, so only the source is left to remove."""
        origin, goal = self._path(source), self._path(target)
        with _told(target):
            if self._system.exists(goal):
                self._system.delete(origin, False)
                return
            self._system.mkdirs(goal.getParent())
            if not self._system.rename(origin, goal):
                raise QueryInterrupted(f"{source} cannot be moved to {target}", hint="is it still there?")

    def remove(self, path: str) -> None:
        """As the protocol says."""
        with _told(path):
            self._system.delete(self._path(path), True)

    def _path(self, path: str) -> Any:  # noqa: ANN401 - an object of Java
        return self._java.org.apache.hadoop.fs.Path(path)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Turn Hadoop's refusals inside the block into ours."""
    try:
        yield
    except Py4JJavaError as error:
        reason = error.java_exception.toString()
        hint = "is the store there, and are its address and keys right (spark.hadoop.fs.*)?"
        raise QueryInterrupted(f"{path}: {reason}", hint=hint) from error
