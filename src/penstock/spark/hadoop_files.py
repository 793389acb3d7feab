"""File operations on every file system that Hadoop supports, such as `s3a://` and `hdfs://`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.errors import QueryInterrupted
from penstock.spark.files import Files, FoundFile, LocalFiles, is_local, occupied

_THERE_ALREADY = ("FileAlreadyExistsException", "RemoteFileChangedException")
_OBJECT_STORES = {"s3a", "gs"}
"""Stores where an object appears complete when its stream is closed. A rename is a copy, so it is not exclusive."""


def files_at(location: str, session: SparkSession) -> Files:
    """Return the file operations for a location: `LocalFiles` for a local path, otherwise `HadoopFiles`."""
    return LocalFiles() if is_local(location) else HadoopFiles(session, location)


class HadoopFiles:
    """Files of a Hadoop file system. On an object store, a move is a copy followed by a removal."""

    def __init__(self, session: SparkSession, location: str) -> None:
        self._java: Any = session._jvm  # noqa: SLF001 - PySpark has no public way to Hadoop's file systems
        self._conf: Any = session._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
        with _told(location):
            self._system = self._path(location).getFileSystem(self._conf)
        self._scheme = urlsplit(location).scheme
        self._stores_objects = self._scheme in _OBJECT_STORES

    def read(self, path: str) -> bytes | None:
        """Return the content, or None if the file does not exist."""
        with _told(path):
            if not self._system.exists(self._path(path)):
                return None
            stream = self._system.open(self._path(path))
            try:
                return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def write(self, path: str, data: bytes) -> None:
        """Replace a file atomically: as a single object, or by Spark's atomic write for checkpoint files."""
        with _told(path):
            target = self._path(path)
            stream = self._system.create(target, True) if self._stores_objects else self._atomic(target, replace=True)
            _finish(stream, data)

    def create(self, path: str, data: bytes) -> bool:
        """Create a file if none exists; an object store rejects the write if the object exists."""
        target = self._path(path)
        try:
            with _told(path):
                if self._stores_objects:
                    stream = self._new_object(target)
                elif self._system.exists(target):
                    return False
                else:
                    stream = self._atomic(target, replace=False)
                _finish(stream, data)
        except QueryInterrupted as refusal:
            if any(told in refusal.message for told in _THERE_ALREADY):
                return False
            raise
        return True

    def below(self, directory: str) -> list[FoundFile]:
        """List every file below a directory."""
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

    def names(self, directory: str) -> list[str]:
        """List the entries of a directory."""
        with _told(directory):
            root = self._path(directory)
            if not self._system.exists(root):
                return []
            return sorted(status.getPath().getName() for status in self._system.listStatus(root))

    def move(self, source: str, target: str) -> None:
        """Move a file; if the target exists, only remove the source.

        An existing target is complete. Raise LedgerLost if source and target differ in size.
        """
        origin, goal = self._path(source), self._path(target)
        with _told(target):
            if self._system.exists(goal):
                if self._system.exists(origin) and self._size(origin) != self._size(goal):
                    raise occupied(target)
                self._system.delete(origin, False)
                return
            self._system.mkdirs(goal.getParent())
            if not self._system.rename(origin, goal):
                raise QueryInterrupted(f"{source} cannot be moved to {target}", hint="is it still there?")

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its contents."""
        with _told(path):
            self._system.delete(self._path(path), True)

    def remove_if_empty(self, directory: str) -> None:
        """Remove an empty directory; do nothing on an object store, where directories do not exist."""
        if not self._stores_objects and not self.names(directory):
            with _told(directory):
                self._system.delete(self._path(directory), False)

    def lock(self, path: str) -> AbstractContextManager[None]:  # noqa: ARG002 - there is nothing to lock
        """Return a context manager that does nothing: Hadoop's file systems have no locks."""
        return nullcontext()

    def _atomic(self, target: Any, *, replace: bool) -> Any:  # noqa: ANN401 - objects of Java
        managers = self._java.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
        self._system.mkdirs(target.getParent())
        return managers.create(target, self._conf).createAtomic(target, replace)

    def _new_object(self, target: Any) -> Any:  # noqa: ANN401 - as above
        if self._scheme != "s3a":
            return self._system.create(target, False)  # the connector of `gs` requires generation 0: no existing object
        builder = self._system.createFile(target).create().recursive()
        return builder.must("fs.option.create.conditional.overwrite", "true").build()

    def _size(self, path: Any) -> int:  # noqa: ANN401 - an object of Java
        return int(self._system.getFileStatus(path).getLen())

    def _path(self, path: str) -> Any:  # noqa: ANN401 - an object of Java
        return self._java.org.apache.hadoop.fs.Path(path)


def _finish(stream: Any, data: bytes) -> None:  # noqa: ANN401 - an object of Java
    """Write and close a stream. The file appears on close; after a failed write, no file appears."""
    try:
        stream.write(data)
    except Py4JJavaError:
        stream.cancel() if hasattr(stream, "cancel") else stream.abort()
        raise
    stream.close()


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Raise QueryInterrupted for Hadoop's errors inside the block."""
    try:
        yield
    except Py4JJavaError as error:
        reason = error.java_exception.toString()
        hint = "is the store there, and are its address and keys right (spark.hadoop.fs.*)?"
        raise QueryInterrupted(f"{path}: {reason}", hint=hint) from error
