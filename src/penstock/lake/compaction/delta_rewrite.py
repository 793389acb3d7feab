"""Compaction of a local Delta table with folder names of any kind, by a commit of our own.

 1  small files of each partition are merged into new files in the same folder, which no reader sees yet
 2  one commit removes the old files and adds the new files; paths are repeated exactly as in the log

The commit is a new file in the log, created only if the version is free. If a concurrent writer takes the version
first, that commit is examined: appended files do not matter, removed sources or changed columns end the compaction.
A crash before step 2 leaves files that no log mentions.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable

from penstock.errors import CompactionRefused, LakeUnavailable
from penstock.lake.compaction.delta_partitions import PartitionValues, logged_partitions
from penstock.lake.compaction.merging import columns_of, merge, rows_in
from penstock.lake.compaction.plan import Compacted, SmallFile, groups, is_small
from penstock.lake.delta_paths import decode, is_relative, sibling
from penstock.spark.files import LocalFiles
from penstock.spark.lake.delta_log import log_path

_MOST_ATTEMPTS: Final = 1000
_HARMLESS_FEATURES: Final = frozenset(
    {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "timestampNtz"}
)
"""Features without effect on replaced files. Any other feature needs Delta's own writer."""

_READER, _WRITER, _BY_FEATURES = 1, 4, 7
"""Newest protocol versions without column mapping, and the writer version that lists features instead."""


@dataclass(frozen=True)
class _Added:
    """File of the table, as recorded in the log."""

    reference: str
    size: int
    partition: PartitionValues

    def remove(self, now: int) -> dict[str, Any]:
        """Return the action that removes the file from the table without a data change."""
        return {
            "remove": {
                "path": self.reference,
                "deletionTimestamp": now,
                "dataChange": False,
                "extendedFileMetadata": True,
                "partitionValues": self.partition,
                "size": self.size,
            }
        }


@dataclass
class _Rewrite:
    """Merged files, new files, and the actions of the commit."""

    merged: list[_Added] = field(default_factory=list)
    actions: list[dict[str, Any]] = field(default_factory=list)
    made: list[Path] = field(default_factory=list)

    def discard(self) -> None:
        """Remove the new files. Allowed only if certainly no commit refers to them."""
        for path in self.made:
            path.unlink(missing_ok=True)


def rewrite_small_files(table: DeltaTable, name: str, root: str, target_bytes: int) -> Compacted:
    """Merge the small files of every partition and commit the result. Without small files, nothing changes."""
    _refuse_unknown_features(table, name)
    version, rewrite = table.version(), _Rewrite()
    try:
        for group in _small_groups(table, name, Path(root), target_bytes):
            _merge_group(group, Path(root), rewrite)
    except BaseException:
        rewrite.discard()
        raise
    if rewrite.merged:
        _commit(root, name, version, rewrite)
    sizes = sum(file.size for file in rewrite.merged), sum(path.stat().st_size for path in rewrite.made)
    return Compacted(name, len(rewrite.merged), len(rewrite.made), *sizes)


def _refuse_unknown_features(table: DeltaTable, name: str) -> None:
    protocol = table.protocol()
    features = {*(protocol.writer_features or ()), *(protocol.reader_features or ())}
    is_by_version = protocol.min_writer_version <= _WRITER and protocol.min_reader_version <= _READER
    is_by_features = protocol.min_writer_version == _BY_FEATURES and features <= _HARMLESS_FEATURES
    if not (is_by_version or is_by_features):
        raise CompactionRefused(
            f"table {name} has features of Delta that only Spark compacts: {', '.join(sorted(features)) or protocol}",
            hint="set compact_every in the lake sink of its pipeline",
        )


def _small_groups(table: DeltaTable, name: str, root: Path, target_bytes: int) -> Iterator[list[_Added]]:
    """Yield the files to merge, from a single partition, with equal columns and a total size close to the target."""
    added = {file.reference: file for file in _small_files(table, name, root, target_bytes)}
    by_partition = sorted(added.values(), key=_partition_key)
    for _, files in groupby(by_partition, key=_partition_key):
        several = list(files)
        if len(several) > 1:
            small = (
                SmallFile(file.reference, file.size, columns_of(root / decode(file.reference)).to_string())
                for file in several
            )
            for group in groups(small, target_bytes):
                yield [added[file.name] for file in group]


def _partition_key(file: _Added) -> str:
    return json.dumps(file.partition, sort_keys=True)


def _small_files(table: DeltaTable, name: str, root: Path, target_bytes: int) -> Iterator[_Added]:
    sizes = {path: size for path, size in _sizes(table, name) if is_small(size, target_bytes)}
    partitions = logged_partitions(str(root), name, table.version(), sizes)
    return (_Added(reference, size, partitions[reference]) for reference, size in sizes.items())


def _sizes(table: DeltaTable, name: str) -> Iterator[tuple[str, int]]:
    for action in pa.table(table.get_add_actions(flatten=False)).to_pylist():
        if not is_relative(action["path"]):
            raise CompactionRefused(f"table {name} has files of another table", hint="Spark can compact it: OPTIMIZE")
        yield action["path"], action["size_bytes"]


def _merge_group(group: Sequence[_Added], root: Path, rewrite: _Rewrite) -> None:
    reference = sibling(group[0].reference, f"part-00000-{uuid.uuid4()}.c000.snappy.parquet")
    target = root / decode(reference)
    rewrite.made.append(target)
    merge([root / decode(file.reference) for file in group], target)
    now = time.time_ns() // 1_000_000
    added = {
        "path": reference,
        "partitionValues": group[0].partition,
        "size": target.stat().st_size,
        "modificationTime": now,
        "dataChange": False,
        "stats": json.dumps({"numRecords": rows_in(target)}),
    }
    rewrite.actions += [*(file.remove(now) for file in group), {"add": added}]
    rewrite.merged += group


def _commit(root: str, name: str, read_version: int, rewrite: _Rewrite) -> None:
    """Write the commit at the next free version, unless a concurrent commit conflicts."""
    files, sources = LocalFiles(), {file.reference for file in rewrite.merged}
    lines = [json.dumps(action, ensure_ascii=False) for action in (_commit_info(read_version), *rewrite.actions)]
    content = ("\n".join(lines) + "\n").encode()
    for version in range(read_version + 1, read_version + 1 + _MOST_ATTEMPTS):
        path = f"{log_path(root)}/{version:020}.json"
        if files.create(path, content):
            return
        if _contradicts(files.read(path) or b"", sources):
            break
    rewrite.discard()
    raise LakeUnavailable(f"table {name} was changed at the same time", hint="try again")


def _contradicts(commit: bytes, sources: set[str]) -> bool:
    """Return True if a commit removes a merged file, or changes the table's metadata or protocol."""
    actions = [json.loads(line) for line in commit.splitlines() if line.strip()]
    return not actions or any(
        "metaData" in action or "protocol" in action or action.get("remove", {}).get("path") in sources
        for action in actions
    )


def _commit_info(read_version: int) -> dict[str, Any]:
    return {
        "commitInfo": {
            "timestamp": time.time_ns() // 1_000_000,
            "operation": "OPTIMIZE",
            "operationParameters": {"predicate": "[]"},
            "readVersion": read_version,
            "isolationLevel": "SnapshotIsolation",
            "isBlindAppend": False,
            "engineInfo": "penstock",
        }
    }
