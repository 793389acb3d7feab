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
    │   │   ├── UnsafeStore            a store lets two writers create the same file
    │   │   ├── TakenOver              another driver runs the same query
    │   │   ├── QueryFailed            Spark refuses the query
    │   │   └── BatchFailed            a batch failed many times in the same way
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
        │   ├── UnknownFailure         for a reason that may not pass by itself
        │   └── TableChanged           somebody else changed the same files of a table
        ├── LakeUnavailable            the lake's file system or object store does not answer
        └── OperationTimedOut          an administrative call took too long

An error has a stable `code` (what programs and dead letters match), one factual line of text, a `hint`
that says what to do, and `details` (what was tried) as data.
"""

from penstock.errors.base import ConfigError, OperationTimedOut, PenstockError, Problem, Terminal, Transient, UsageError
from penstock.errors.data import (
    LetterNotFound,
    RecordError,
    RecordInvalid,
    RecordTooLarge,
    RecordUndecodable,
    RegistryRefused,
    RegistryUnavailable,
    SchemaError,
    SchemaIncompatible,
    SchemaNotFound,
    SchemaSyntaxError,
    TransformFailed,
)
from penstock.errors.running import (
    ActionFailed,
    AlreadyRunning,
    BatchFailed,
    CompactionRefused,
    DataLost,
    DataMismatch,
    DiskFull,
    JarRefused,
    JarUnavailable,
    LakeError,
    LakeUnavailable,
    LedgerLost,
    LocalError,
    NotRunning,
    PartFailed,
    PipelineError,
    PortInUse,
    QueryFailed,
    QueryInterrupted,
    QuestionRefused,
    TableChanged,
    TableNotFound,
    TableUnreadable,
    TakenOver,
    UnknownFailure,
    UnsafeStore,
)
from penstock.errors.systems import (
    AuthenticationFailed,
    BrokerUnavailable,
    BufferFull,
    CommitFailed,
    ConnectorFailed,
    ConnectorNotFound,
    ConnectRefused,
    ConnectUnavailable,
    DatabaseRefused,
    DatabaseUnavailable,
    DatabaseUnfit,
    DeliveryFailed,
    GroupBusy,
    GroupNotFound,
    KafkaRefused,
    NotAuthorized,
    TargetRefused,
    TargetUnavailable,
    TopicExists,
    TopicNotFound,
    Undelivered,
    UndeliveredRecord,
)

__all__ = [
    "ActionFailed",
    "AlreadyRunning",
    "AuthenticationFailed",
    "BatchFailed",
    "BrokerUnavailable",
    "BufferFull",
    "CommitFailed",
    "CompactionRefused",
    "ConfigError",
    "ConnectRefused",
    "ConnectUnavailable",
    "ConnectorFailed",
    "ConnectorNotFound",
    "DataLost",
    "DataMismatch",
    "DatabaseRefused",
    "DatabaseUnavailable",
    "DatabaseUnfit",
    "DeliveryFailed",
    "DiskFull",
    "GroupBusy",
    "GroupNotFound",
    "JarRefused",
    "JarUnavailable",
    "KafkaRefused",
    "LakeError",
    "LakeUnavailable",
    "LedgerLost",
    "LetterNotFound",
    "LocalError",
    "NotAuthorized",
    "NotRunning",
    "OperationTimedOut",
    "PartFailed",
    "PenstockError",
    "PipelineError",
    "PortInUse",
    "Problem",
    "QueryFailed",
    "QueryInterrupted",
    "QuestionRefused",
    "RecordError",
    "RecordInvalid",
    "RecordTooLarge",
    "RecordUndecodable",
    "RegistryRefused",
    "RegistryUnavailable",
    "SchemaError",
    "SchemaIncompatible",
    "SchemaNotFound",
    "SchemaSyntaxError",
    "TableChanged",
    "TableNotFound",
    "TableUnreadable",
    "TakenOver",
    "TargetRefused",
    "TargetUnavailable",
    "Terminal",
    "TopicExists",
    "TopicNotFound",
    "TransformFailed",
    "Transient",
    "Undelivered",
    "UndeliveredRecord",
    "UnknownFailure",
    "UnsafeStore",
    "UsageError",
]
