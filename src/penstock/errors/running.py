"""Errors of what runs: pipelines and actions, tables of the lake, and the systems on this machine."""

from __future__ import annotations

from penstock.errors.base import Terminal, Transient


class PipelineError(Terminal):
    """A data pipeline cannot go on."""

    code = "pipeline"


class DataLost(PipelineError):
    """Records were gone before they were read: by retention, or because the topic was made anew."""

    code = "pipeline.data_lost"


class LedgerLost(PipelineError):
    """A table has files of this pipeline, but the ledger that says which records they hold is gone."""

    code = "pipeline.ledger_lost"


class UnsafeStore(PipelineError):
    """The store of a table lets two writers create the same file, so two drivers could write the same records."""

    code = "pipeline.unsafe_store"


class TakenOver(PipelineError):
    """Another driver has begun to run the same query."""

    code = "pipeline.taken_over"


class QueryFailed(PipelineError):
    """Spark refuses the query, or its work fails in a way that trying again will not change."""

    code = "pipeline.failed"


class BatchFailed(PipelineError):
    """A batch failed many times in the same way, so trying again will not help."""

    code = "pipeline.batch_failed"


class QueryInterrupted(Transient):
    """Spark failed in the middle of a batch: a disk that is full, a lost executor, a file system that is away."""

    code = "pipeline.interrupted"


class UnknownFailure(QueryInterrupted):
    """Spark failed in the middle of a batch for a reason that may not pass by itself."""


class TableChanged(QueryInterrupted):
    """Somebody else changed the same files of a table at the same time."""

    code = "lake.changed"


class ActionFailed(Terminal):
    """An action's pipeline stops at an event that fails; the message has the event's origin."""

    code = "action.failed"


class LakeError(Terminal):
    """Something is wrong with a table of the lake, or with a question to it."""

    code = "lake"


class TableNotFound(LakeError, LookupError):
    """The lake has no such table."""

    code = "lake.table_not_found"


class TableUnreadable(LakeError):
    """A table's files or its log are not what they should be."""

    code = "lake.table_unreadable"


class CompactionRefused(LakeError):
    """The table is kept where files cannot be merged without a reader noticing."""

    code = "lake.compaction_refused"


class QuestionRefused(LakeError):
    """The SQL is wrong, which the message shows with its place, or it asks for more than an answer."""

    code = "lake.question_refused"
    exit_code = 2


class LakeUnavailable(Transient):
    """The lake's file system or object store does not answer, or changed while it was read."""

    code = "lake.unavailable"


class LocalError(Terminal):
    """Something about the local stack is wrong."""

    code = "local"


class PortInUse(LocalError):
    """Another program listens on a port that a part needs."""

    code = "local.port_in_use"


class DiskFull(LocalError):
    """There is not enough room for the stack's data."""

    code = "local.disk_full"


class DataMismatch(LocalError):
    """The data directory was written by another version or with other settings."""

    code = "local.data_mismatch"


class PartFailed(LocalError):
    """A part of the stack did not start or died; the message ends with the last lines of its log."""

    code = "local.part_failed"


class AlreadyRunning(LocalError):
    """A stack runs on this data directory already."""

    code = "local.already_running"


class NotRunning(LocalError):
    """No stack runs on this data directory."""

    code = "local.not_running"


class JarRefused(LocalError):
    """A downloaded file does not have the hash that the lock file names."""

    code = "local.jar_refused"


class JarUnavailable(LocalError):
    """A file of the lock could not be downloaded."""

    code = "local.jar_unavailable"
