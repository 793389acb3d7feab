"""Errors of pipelines, actions, lake tables and the local stack."""

from __future__ import annotations

from penstock.errors.base import Terminal, Transient


class PipelineError(Terminal):
    """A data pipeline cannot continue."""

    code = "pipeline"


class DataLost(PipelineError):
    """Records were gone before they were read: deleted by retention, or because the topic was recreated."""

    code = "pipeline.data_lost"


class LedgerLost(PipelineError):
    """A table has files of this pipeline, but the ledger of their records is missing or damaged."""

    code = "pipeline.ledger_lost"


class UnsafeStore(PipelineError):
    """The table's store lets two writers create the same file, so two drivers could write the same records."""

    code = "pipeline.unsafe_store"


class TakenOver(PipelineError):
    """A second driver has started to run the query."""

    code = "pipeline.taken_over"


class QueryFailed(PipelineError):
    """Spark rejects the query, or fails in a way that a retry does not change."""

    code = "pipeline.failed"


class BatchFailed(PipelineError):
    """A batch failed many times in the same way, so further retries do not help."""

    code = "pipeline.batch_failed"


class QueryInterrupted(Transient):
    """Spark failed in the middle of a batch: full disk, lost executor, unreachable file system."""

    code = "pipeline.interrupted"


class UnknownFailure(QueryInterrupted):
    """Spark failed in the middle of a batch for a reason that may persist."""


class TableChanged(QueryInterrupted):
    """A concurrent writer changed the same files of a table."""

    code = "lake.changed"


class ActionFailed(Terminal):
    """An action's pipeline stops at an event that fails; the message has the event's origin."""

    code = "action.failed"


class LakeError(Terminal):
    """A lake table or a query of the lake is invalid."""

    code = "lake"


class TableNotFound(LakeError, LookupError):
    """The lake has no such table."""

    code = "lake.table_not_found"


class TableUnreadable(LakeError):
    """A table's files or its log are damaged."""

    code = "lake.table_unreadable"


class CompactionRefused(LakeError):
    """The table's store or format does not allow merging files unnoticed by readers."""

    code = "lake.compaction_refused"


class QuestionRefused(LakeError):
    """The SQL is invalid (the message shows the position), or is not a single query."""

    code = "lake.question_refused"
    exit_code = 2


class LakeUnavailable(Transient):
    """The lake's file system or object store does not answer, or a table changed during the operation."""

    code = "lake.unavailable"


class LocalError(Terminal):
    """The local stack cannot run as requested."""

    code = "local"


class PortInUse(LocalError):
    """The port of a server is used by a different program."""

    code = "local.port_in_use"


class DiskFull(LocalError):
    """The disk lacks space for the stack's data."""

    code = "local.disk_full"


class DataMismatch(LocalError):
    """The data directory is from a different version, has different settings, or has foreign files."""

    code = "local.data_mismatch"


class PartFailed(LocalError):
    """A part of the stack did not start or died; the message ends with the last lines of its log."""

    code = "local.part_failed"


class AlreadyRunning(LocalError):
    """A stack already runs on this data directory."""

    code = "local.already_running"


class NotRunning(LocalError):
    """No stack runs on this data directory."""

    code = "local.not_running"


class JarRefused(LocalError):
    """A downloaded file does not have the hash in the lock file."""

    code = "local.jar_refused"


class JarUnavailable(LocalError):
    """A file in the lock file could not be downloaded."""

    code = "local.jar_unavailable"
