"""Every error that Penstock raises: `Terminal` (fix something) or `Transient` (try again).

    PenstockError
    ├── Terminal                       nothing changes by trying again
    │   ├── ConfigError                settings, YAML files, options     (exit code 2)
    │   ├── UsageError                 a command or call used wrongly    (exit code 2)
    │   ├── SchemaError
    │   │   ├── SchemaSyntaxError      the schema's text cannot be parsed
    │   │   ├── SchemaIncompatible     the registry's rule forbids the change
    │   │   └── SchemaNotFound         no such subject, version or id
    │   ├── RecordError
    │   │   ├── RecordInvalid          a value does not fit its schema
    │   │   ├── RecordUndecodable      bytes are not what their schema says
    │   │   ├── RecordTooLarge         larger than the broker takes
    │   │   └── TransformFailed        a pipeline's transform fails on the record
    │   ├── RegistryRefused            the registry answers, but not as a registry, or says no
    │   ├── TopicNotFound, TopicExists, GroupNotFound, GroupBusy, KafkaRefused
    │   ├── NotAuthorized              the user lacks a named right
    │   ├── AuthenticationFailed       wrong user, password or certificate
    │   ├── ConnectRefused, ConnectorNotFound, ConnectorFailed
    │   ├── DatabaseRefused, DatabaseUnfit
    │   ├── PipelineError
    │   │   ├── DataLost               records were gone before they were read
    │   │   ├── LedgerLost             a table has files that no ledger accounts for
    │   │   ├── TakenOver              another driver runs the same query
    │   │   └── QueryFailed            Spark refuses the query
    │   ├── LetterNotFound             no dead letter stands there
    │   ├── ActionFailed               an action stops at an event that fails
    │   ├── TargetRefused              what an action talks to said no
    │   ├── LakeError
    │   │   ├── TableNotFound          the lake has no such table
    │   │   ├── TableUnreadable        its files or its log are not what they should be
    │   │   ├── CompactionRefused      files cannot be merged so that no reader notices
    │   │   └── QuestionRefused        SQL that is wrong, or more than a question     (exit code 2)
    │   └── LocalError
    │       ├── PortInUse, DiskFull, DataMismatch, PartFailed
    │       ├── AlreadyRunning, NotRunning
    │       └── JarRefused, JarUnavailable
    └── Transient                      the same call may work later
        ├── TargetUnavailable          what an action talks to does not answer, or asks to come back later
        ├── BrokerUnavailable          no broker answers
        ├── RegistryUnavailable, ConnectUnavailable, DatabaseUnavailable
        ├── DeliveryFailed             the broker did not confirm in time
        │   └── Undelivered            what flushing or closing a producer found undelivered
        ├── CommitFailed               the broker did not take down a group's place
        ├── BufferFull                 the producer's buffer stayed full
        ├── QueryInterrupted           Spark failed in the middle of a batch
        ├── LakeUnavailable            the lake's file system or object store does not answer
        └── OperationTimedOut          an administrative call took too long

An error has a stable `code` (what programs and dead letters match), one factual line of text, a `hint`
that says what to do, and `details` (what was tried) as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class PenstockError(Exception):
    """The root: a stable code, one line on what is wrong, a hint on what to do, and details as data."""

    code: ClassVar[str] = "penstock"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class Terminal(PenstockError):
    """Trying again changes nothing: a person has to fix something."""


class Transient(PenstockError):
    """The same call may succeed later; `retry_after` says when, if that is known."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None, **details: object) -> None:
        super().__init__(message, hint=hint, **details)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a configuration, and where it stands."""

    place: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Render as `place: message (hint)`."""
        return f"{self.place}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class ConfigError(Terminal):
    """Settings or a file are wrong; `problems` holds every one of them."""

    code = "config.invalid"
    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class UsageError(Terminal, ValueError):
    """A command or a call was used wrongly."""

    code = "usage"
    exit_code = 2


class SchemaError(Terminal):
    """Something is wrong with a schema."""

    code = "schema"


class SchemaSyntaxError(SchemaError, ValueError):
    """The text is not an Avro schema; the message has the line or the place."""

    code = "schema.syntax"


class SchemaIncompatible(SchemaError):
    """The registry's compatibility rule forbids this version; `details["reasons"]` lists why."""

    code = "schema.incompatible"


class SchemaNotFound(SchemaError, LookupError):
    """The registry has no such subject, version or id."""

    code = "schema.not_found"


class RecordError(Terminal):
    """Something is wrong with one record."""

    code = "record"


class RecordInvalid(RecordError, ValueError):
    """A value does not fit its schema; the message names the field and the value."""

    code = "record.invalid"


class RecordUndecodable(RecordError, ValueError):
    """The bytes are not what their schema, or their wire format, says."""

    code = "record.undecodable"


class RecordTooLarge(RecordError):
    """The record is larger than the client or the broker takes."""

    code = "record.too_large"


class TransformFailed(RecordError):
    """A transform of a pipeline fails on the record; the message has the error and the record's origin."""

    code = "record.transform"


class RegistryRefused(Terminal):
    """The registry said no, or what answers at its address is not a registry."""

    code = "registry.refused"


class TopicNotFound(Terminal, LookupError):
    """The cluster has no such topic."""

    code = "kafka.topic_not_found"


class TopicExists(Terminal):
    """A topic of that name is there already."""

    code = "kafka.topic_exists"


class GroupNotFound(Terminal, LookupError):
    """The cluster has no such consumer group."""

    code = "kafka.group_not_found"


class GroupBusy(Terminal):
    """The consumer group has running members, so its offsets cannot be changed."""

    code = "kafka.group_busy"


class KafkaRefused(Terminal):
    """The broker refused a request for a reason that trying again will not change."""

    code = "kafka.refused"


class NotAuthorized(Terminal, PermissionError):
    """The user lacks a right, which the message names."""

    code = "kafka.not_authorized"


class AuthenticationFailed(Terminal):
    """The cluster does not accept the user, the password or the certificate."""

    code = "kafka.authentication"


class ConnectRefused(Terminal):
    """Kafka Connect said no, or what answers at its address is not Kafka Connect."""

    code = "connect.refused"


class ConnectorNotFound(Terminal, LookupError):
    """Kafka Connect has no such connector."""

    code = "connect.not_found"


class ConnectorFailed(Terminal):
    """A connector or one of its tasks ended in an error; the message has its innermost cause."""

    code = "connect.failed"


class DatabaseRefused(Terminal):
    """The database does not accept the user, the database's name or a statement."""

    code = "database.refused"


class DatabaseUnfit(Terminal):
    """Change capture needs something that the database lacks; the hint has the SQL that mends it."""

    code = "database.unfit"


class PipelineError(Terminal):
    """A data pipeline cannot go on."""

    code = "pipeline"


class DataLost(PipelineError):
    """Records were gone before they were read: by retention, or because the topic was made anew."""

    code = "pipeline.data_lost"


class LedgerLost(PipelineError):
    """A table has files of this pipeline, but the ledger that says which records they hold is gone."""

    code = "pipeline.ledger_lost"


class TakenOver(PipelineError):
    """Another driver has begun to run the same query."""

    code = "pipeline.taken_over"


class QueryFailed(PipelineError):
    """Spark refuses the query, or its work fails in a way that trying again will not change."""

    code = "pipeline.failed"


class ActionFailed(Terminal):
    """An action's pipeline stops at an event that fails; the message has the event's origin."""

    code = "action.failed"


class LetterNotFound(Terminal, LookupError):
    """No dead letter stands at the place, or has it as its origin."""

    code = "dead_letter.not_found"


class TargetRefused(Terminal):
    """What an action talks to, such as a web server or a command, said no to an event."""

    code = "action.refused"


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


class BrokerUnavailable(Transient, ConnectionError):
    """No broker answers at the address."""

    code = "kafka.unavailable"


class RegistryUnavailable(Transient, ConnectionError):
    """No registry answers at any of its addresses."""

    code = "registry.unavailable"


class ConnectUnavailable(Transient, ConnectionError):
    """Kafka Connect does not answer at its address."""

    code = "connect.unavailable"


class DatabaseUnavailable(Transient, ConnectionError):
    """No database answers at the address, or it takes no more connections."""

    code = "database.unavailable"


class TargetUnavailable(Transient, ConnectionError):
    """What an action talks to does not answer, or asks to come back later."""

    code = "action.unavailable"


class DeliveryFailed(Transient):
    """The broker did not confirm a record in time; `details["record"]` has it."""

    code = "kafka.delivery_failed"


@dataclass(frozen=True)
class UndeliveredRecord:
    """A record that the broker did not confirm, as it can be sent again, and the reason."""

    topic: str
    key: object
    value: object
    partition: int | None
    timestamp: int | None
    headers: Sequence[tuple[str, str | bytes | None]]
    reason: PenstockError


class Undelivered(DeliveryFailed):
    """Records were not delivered: `count` says how many, `records` has them, the first ones if they are very many."""

    code = "kafka.undelivered"

    def __init__(self, message: str, *, hint: str, count: int, records: Sequence[UndeliveredRecord]) -> None:
        super().__init__(message, hint=hint, count=count)
        self.count = count
        self.records = tuple(records)


class CommitFailed(Transient):
    """The group's place was not moved past a record, which will be read again; `details["offsets"]` has the places."""

    code = "kafka.commit_failed"


class BufferFull(Transient):
    """The producer's buffer stayed full for as long as the call was allowed to wait."""

    code = "kafka.buffer_full"


class QueryInterrupted(Transient):
    """Spark failed in the middle of a batch: a disk that is full, a lost executor, a file system that is away."""

    code = "pipeline.interrupted"


class LakeUnavailable(Transient):
    """The lake's file system or object store does not answer, or changed while it was read."""

    code = "lake.unavailable"


class OperationTimedOut(Transient, TimeoutError):
    """A call took longer than its stated time-out."""

    code = "timeout"
