"""Partition values of a local Delta table's files, exactly as written in the log.

The `deltalake` library returns parsed values. Writers serialize timestamps differently (`2026-01-01 03:00:00`, or
`2026-01-01T03:00:00.000000Z`), and a reader interprets the first form in its own time zone. A new file therefore
repeats the text of the files that it replaces.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet as pq

from penstock.errors import CompactionRefused
from penstock.spark.lake.delta_log import log_path

PartitionValues = Mapping[str, str | None]


def logged_partitions(root: str, name: str, version: int, references: Iterable[str]) -> dict[str, PartitionValues]:
    """Return the partition values of the files with these references, from the log up to a version."""
    missing, found = set(references), dict[str, PartitionValues]()
    log = Path(log_path(root))
    for number in range(version, -1, -1):
        if not missing:
            break
        for reference, values in _adds(log, number):
            if reference in missing:
                found[reference] = values
                missing.remove(reference)
    if missing:
        raise CompactionRefused(
            f"the log of table {name} no longer has file {min(missing)}", hint="Spark can compact it: OPTIMIZE"
        )
    return found


def _adds(log: Path, version: int) -> Iterator[tuple[str, PartitionValues]]:
    """Yield each file added by a commit, and each file in the checkpoint of the version, if there is one."""
    commit = log / f"{version:020}.json"
    if commit.exists():
        for line in commit.read_bytes().splitlines():
            added = json.loads(line).get("add") if line.strip() else None
            if added:
                yield added["path"], added["partitionValues"]
    for checkpoint in log.glob(f"{version:020}.checkpoint*.parquet"):
        yield from _checkpointed(checkpoint)


def _checkpointed(checkpoint: Path) -> Iterator[tuple[str, PartitionValues]]:
    with pq.ParquetFile(checkpoint) as file:
        for batch in file.iter_batches(columns=["add.path", "add.partitionValues"]):
            for added in pa.Table.from_batches([batch]).column("add").to_pylist():
                if added and added["path"]:
                    yield added["path"], dict(added["partitionValues"] or ())
