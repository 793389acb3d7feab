"""Compaction of a Delta table: a commit replaces small files by large files, so readers see either state.

The `deltalake` library is used if all Delta writers spell the files' paths alike. The library escapes other paths
differently: the commit would remove nothing, and every row would exist twice. Tables with such paths are compacted by
`delta_rewrite`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from deltalake import DeltaTable, PostCommitHookProperties
from deltalake.exceptions import CommitFailedError, DeltaError

from penstock.errors import CompactionRefused, LakeUnavailable
from penstock.lake.compaction.delta_rewrite import rewrite_small_files
from penstock.lake.compaction.plan import Compacted
from penstock.lake.delta_paths import is_plain
from penstock.lake.inventory import TableName
from penstock.lake.store import Store
from penstock.spark.files import is_local

# A compaction changes no data, so its commit may be lost to a concurrent writer on S3. A checkpoint with the lost
# commit would be a loss.
_NO_CHECKPOINT = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


def compact_delta(store: Store, name: TableName, target_bytes: int) -> Compacted:
    """Merge small files. The replaced files remain for readers of older versions until they are a week old."""
    with _delta_errors(store, name):
        table = DeltaTable(f"{store.delta_uri}/{name}", storage_options=store.delta_options)
        if all(map(is_plain, _references(table))):
            done = _optimize(table, name, target_bytes)
        elif is_local(store.location):
            done = rewrite_small_files(table, name, store.full(name), target_bytes)
        else:
            raise CompactionRefused(
                f"table {name} has folders whose names need escaping, which only Spark compacts on an object store",
                hint="set compact_every in the lake sink of its pipeline",
            )
        table.vacuum(dry_run=False)
    return done


def _references(table: DeltaTable) -> list[str]:
    """Return the paths of all files of the table, as spelled in the log."""
    return list(pa.table(table.get_add_actions(flatten=False)).column("path").to_pylist())


def _optimize(table: DeltaTable, name: TableName, target_bytes: int) -> Compacted:
    did = table.optimize.compact(target_size=target_bytes, post_commithook_properties=_NO_CHECKPOINT)
    return Compacted(
        name, did["numFilesRemoved"], did["numFilesAdded"], _size(did["filesRemoved"]), _size(did["filesAdded"])
    )


def _size(metrics: str) -> int:
    return int(json.loads(metrics)["totalSize"])


@contextmanager
def _delta_errors(store: Store, name: TableName) -> Iterator[None]:
    """Translate the library's errors."""
    try:
        yield
    except CommitFailedError as error:
        raise LakeUnavailable(f"table {name} was changed at the same time: {error}", hint="try again") from error
    except DeltaError as error:
        raise CompactionRefused(
            f"table {name}: {error}", hint=f"Spark can: OPTIMIZE delta.`{store.location}/{name}`"
        ) from error
    except OSError as error:
        raise LakeUnavailable(f"table {name}: {error}", hint="is the store there?") from error
