"""Compaction: merge many small files of a table into a few large files, concurrently with writers and readers.

Delta replaces files in a commit of the log (`delta.py`). Plain Parquet has no log, and a reader uses the files in the
folder, so a folder must change atomically (`parquet.py`). A local directory supports atomic changes, an object store
does not.
"""

from __future__ import annotations

from penstock.config import Settings
from penstock.errors import CompactionRefused
from penstock.lake.compaction.delta import compact_delta
from penstock.lake.compaction.parquet import compact_parquet
from penstock.lake.compaction.plan import Compacted
from penstock.lake.lake import Lake
from penstock.lake.store import open_store
from penstock.spark.files import is_local
from penstock.spark.lake.table import DEFAULT_TARGET_BYTES, LakeTable

__all__ = ["Compacted", "compact_table"]


def compact_table(settings: Settings, name: str, target_bytes: int = DEFAULT_TARGET_BYTES) -> Compacted:
    """Merge the small files of a table into files of about `target_bytes`.

    No reader sees a record twice or not at all, and pipelines keep writing to the table. After a crash at any point,
    the table is in the state from before or after the compaction.
    """
    found = Lake(settings).table(name)
    if found.format == "delta":
        return compact_delta(open_store(settings), found.name, target_bytes)
    if not is_local(settings.lake):
        raise CompactionRefused(
            f"table {found.name} is plain Parquet on an object store, which cannot change several files in one moment",
            hint="write it as Delta, or less often: a longer trigger makes fewer and larger files",
        )
    return compact_parquet(LakeTable(settings.lake, found.name), target_bytes)
