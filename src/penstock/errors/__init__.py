"""Every error that Penstock raises: `Terminal` (fix something) or `Transient` (retry).

    PenstockError
    ├── Terminal                       retrying does not help
    │   ├── ConfigError                settings, YAML files, options     (exit code 2)
    │   ├── UsageError                 a command or call used wrongly    (exit code 2)
    │   ├── SchemaError
    │   │   ├── SchemaSyntaxError      the schema's text cannot be parsed
    │   │   ├── SchemaIncompatible     the registry's compatibility rule forbids the change
    │   │   └── SchemaNotFound         unknown subject, version or id
    │   ├── RecordError
    │   │   ├── RecordInvalid          a value does not fit its schema
    │   │   ├── RecordUndecodable      the bytes do not match their schema
    │   │   ├── RecordTooLarge         larger than the broker accepts
    │   │   └── TransformFailed        a pipeline's transform fails on the record
    │   ├── RegistryRefused            the registry rejects the request, or the server is not a registry
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
    │   │   ├── QueryFailed            Spark rejects the query
    │   │   └── BatchFailed            a batch failed many times in the same way
    │   ├── LetterNotFound             no dead letter at this position
    │   ├── ActionFailed               an action stops at an event that fails
    │   ├── TargetRefused              an action's target rejects an event
    │   ├── LakeError
    │   │   ├── TableNotFound          the lake has no such table
    │   │   ├── TableUnreadable        damaged files or a damaged log
    │   │   ├── CompactionRefused      files cannot be merged safely
    │   │   └── QuestionRefused        invalid SQL, or a statement other than a query (exit code 2)
    │   └── LocalError
    │       ├── PortInUse, DiskFull, DataMismatch, PartFailed
    │       ├── AlreadyRunning, NotRunning
    │       └── JarRefused, JarUnavailable
    └── Transient                      a retry may succeed
        ├── TargetUnavailable          an action's target does not answer, or asks for a later retry
        ├── BrokerUnavailable          no broker answers
        ├── RegistryUnavailable, ConnectUnavailable, DatabaseUnavailable
        ├── DeliveryFailed             the broker did not acknowledge in time
        │   └── Undelivered            undelivered records found when flushing or closing a producer
        ├── CommitFailed               the broker did not store a group's offsets
        ├── BufferFull                 the producer's buffer stayed full
        ├── QueryInterrupted           Spark failed in the middle of a batch
        │   ├── UnknownFailure         for a reason that may persist
        │   └── TableChanged           a concurrent writer changed the same files of a table
        ├── LakeUnavailable            the lake's file system or object store does not answer
        └── OperationTimedOut          a call took too long

An error has a stable `code` (matched by programs and dead letters), one factual line of text, a `hint` that says how to
fix the problem, and `details` (the attempted operation) as data.
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
