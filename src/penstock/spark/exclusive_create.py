"""Check that a store creates a file only once; a ledger relies on exclusive creation to detect a second driver.

S3 rejects a second object if the store supports `If-None-Match`. HDFS and hierarchical Azure stores reject a rename
onto an existing file. A store with neither feature accepts both files without an error.
"""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Final

from penstock.errors import QueryInterrupted, UnsafeStore
from penstock.spark.files import Files

_CONTENDERS: Final = 6
_UNSUPPORTED: Final = (
    "AWSUnsupportedFeatureException",
    "UnsupportedOperationException",
    "Status Code: 501",
    "NotImplemented",
)
"""Texts of errors from stores, and file systems of Hadoop, that refuse the condition itself."""


def require_exclusive_create(files: Files, directory: str) -> None:
    """Raise UnsafeStore if a file can be created twice, or if the store refuses to create a file conditionally."""
    probe = f"{directory}/probe-{uuid.uuid4().hex}"
    path = f"{probe}/entry"
    try:
        if files.create(path, b"first") and files.create(path, b"second"):
            raise _unsafe(directory, "replaces an existing file")
        files.remove(path)
        if _race(files, path) > 1:
            raise _unsafe(directory, "lets several writers create the same file")
    except QueryInterrupted as failure:
        if any(text in failure.message for text in _UNSUPPORTED):
            raise _unsafe(directory, "cannot create a file only if none exists") from failure
        raise
    finally:
        files.remove(probe)


def _race(files: Files, path: str) -> int:
    """Return how many of several concurrent writers succeeded in creating a file.

    The writers race because a client with a check before the write detects only an earlier writer.
    """
    at_once = Barrier(_CONTENDERS)

    def create(number: int) -> bool:
        at_once.wait()
        try:
            return files.create(path, b"%d" % number)
        except QueryInterrupted:  # some stores report a conflict with a separate error
            return False

    with ThreadPoolExecutor(_CONTENDERS) as pool:
        return sum(pool.map(create, range(_CONTENDERS)))


def _unsafe(directory: str, what: str) -> UnsafeStore:
    return UnsafeStore(
        f"the store of {directory} {what}, so a record could be in a Parquet table twice",
        hint="use S3 with support for `If-None-Match`, Azure with a hierarchical namespace, HDFS or a disk",
    )
