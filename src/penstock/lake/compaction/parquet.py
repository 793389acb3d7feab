"""Compaction of plain Parquet in a local directory, folder by folder.

 1  small files are merged into a new directory, next to the tables, outside of the readers' view
 2  under the table's lock, which writers acquire to move files in: unmerged files are linked into the new
    directory, and the two directories are swapped atomically
 3  the old directory is removed

A reader that lists the folder finds either the old files or the new files. A reader that listed the folder earlier
and opens a file after step 2 gets a missing-file error and must query again. A crash leaves a directory that nobody
reads; the next compaction removes it. Files that a ledger still has to move are not touched.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import CompactionRefused, LakeUnavailable
from penstock.lake.compaction.exchange import exchange
from penstock.lake.compaction.merging import columns_of, merge
from penstock.lake.compaction.plan import Compacted, SmallFile, groups, is_small
from penstock.spark.files import LocalFiles, local_path
from penstock.spark.lake.file_names import merged_name, number_of, writer_of
from penstock.spark.lake.ledger import Ledger, ledger_of
from penstock.spark.lake.table import LakeTable


def compact_parquet(table: LakeTable, target_bytes: int) -> Compacted:
    """Merge the small files in every folder of the table. A table has at most one compaction at a time."""
    files, work = LocalFiles(), local_path(table.internal) / "compaction"
    with files.lock(f"{table.internal}/compaction.lock"):
        try:
            shutil.rmtree(work, ignore_errors=True)
            done = Compacted(table.name)
            for folder in _folders(local_path(table.path)):
                found = list(_small_files(folder, target_bytes))
                # Read after listing the files: each file is either listed here, or moved permanently.
                unfinished = _unfinished(files, table)
                small = [file for file in found if file.name not in unfinished]
                done = done.plus(_compact_folder(table, folder, groups(small, target_bytes), work))
        except OSError as error:
            raise LakeUnavailable(
                f"table {table.name}: {error}", hint="is there room, and the right to write?"
            ) from error
    return done


def _compact_folder(table: LakeTable, folder: Path, merging: list[list[SmallFile]], work: Path) -> Compacted:
    if not merging:
        return Compacted(table.name)
    new = work / uuid.uuid4().hex
    new.mkdir(parents=True)
    for group in merging:
        merge([folder / file.name for file in group], new / _merged_name(group))
    made = list(new.iterdir())
    size, merged = sum(path.stat().st_size for path in made), [file for group in merging for file in group]
    _swap(table, folder, new, {file.name for file in merged})
    shutil.rmtree(new)
    return Compacted(table.name, len(merged), len(made), sum(file.size for file in merged), size)


def _swap(table: LakeTable, folder: Path, new: Path, merged: set[str]) -> None:
    """Swap the new directory into the folder's place, together with all unmerged files."""
    with LocalFiles().lock(table.lock):
        present = {entry.name for entry in os.scandir(folder)}
        if not merged <= present:
            raise LakeUnavailable(f"{folder}: files were removed while they were merged", hint="try again")
        for name in present - merged:
            os.link(folder / name, new / name)
        shutil.copystat(folder, new)
        exchange(folder, new)


def _folders(root: Path) -> Iterator[Path]:
    """Yield every directory with files of the table.

    A directory with both files and subdirectories cannot be swapped.
    """
    for directory, inner, names in os.walk(root):
        if not any(name.endswith(".parquet") for name in names):
            continue
        if inner:
            hint = "move other tables out of the table's directory"
            raise CompactionRefused(f"{directory} has files and directories side by side", hint=hint)
        yield Path(directory)


def _small_files(folder: Path, target_bytes: int) -> Iterator[SmallFile]:
    for entry in os.scandir(folder):
        writer, size = writer_of(entry.name), entry.stat().st_size
        if writer is not None and is_small(size, target_bytes):
            yield SmallFile(entry.name, size, (writer, columns_of(folder / entry.name).to_string()))


def _unfinished(files: LocalFiles, table: LakeTable) -> set[str]:
    """Return the files of batches whose writer died during the move. The writer will look for these files by name."""
    queries = local_path(table.state(""))
    names = [path.name for path in queries.iterdir()] if queries.is_dir() else []
    last = (Ledger(files, ledger_of(table, name)).last() for name in names)
    return {Path(move.target).name for entry in last if entry for move in entry.moves}


def _merged_name(group: list[SmallFile]) -> str:
    newest = max(number_of(file.name) for file in group)
    return merged_name(writer_of(group[0].name) or "", newest, uuid.uuid4().hex[:12])
