"""Compaction of a Delta table: one commit takes small files out and puts large ones in; readers see before or after."""

from __future__ import annotations

import json

from deltalake import DeltaTable, PostCommitHookProperties
from deltalake.exceptions import CommitFailedError, DeltaError

from penstock.errors import CompactionRefused, LakeUnavailable
from penstock.lake.compaction.plan import Compacted
from penstock.lake.inventory import TableName
from penstock.lake.store import Store

# A commit that a writer on S3 overwrote at the same moment is no loss, because it changed no data; a checkpoint that
# holds it would be one.
_NO_CHECKPOINT = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


def compact_delta(store: Store, name: TableName, target_bytes: int) -> Compacted:
    """Merge small files; the old ones stay for who reads an older version, until they are a week old."""
    try:
        table = DeltaTable(f"{store.delta_uri}/{name}", storage_options=store.delta_options)
        did = table.optimize.compact(target_size=target_bytes, post_commithook_properties=_NO_CHECKPOINT)
        table.vacuum(dry_run=False)
    except CommitFailedError as error:
        raise LakeUnavailable(f"table {name} was changed at the same time: {error}", hint="try again") from error
    except DeltaError as error:
        raise CompactionRefused(
            f"table {name}: {error}", hint=f"Spark can: OPTIMIZE delta.`{store.location}/{name}`"
        ) from error
    except OSError as error:
        raise LakeUnavailable(f"table {name}: {error}", hint="is the store there?") from error
    return Compacted(
        name, did["numFilesRemoved"], did["numFilesAdded"], _size(did["filesRemoved"]), _size(did["filesAdded"])
    )


def _size(told: str) -> int:
    return int(json.loads(told)["totalSize"])
