"""Translation of Spark and Java failures into Penstock's errors. The first matching row of the table applies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException

from penstock.errors import (
    AuthenticationFailed,
    BrokerUnavailable,
    NotAuthorized,
    PenstockError,
    QueryFailed,
    QueryInterrupted,
    RecordTooLarge,
    TableChanged,
    TopicNotFound,
    TransformFailed,
    UnknownFailure,
)

UNKNOWN_SCHEMA = "penstock.unknown_schema"
"""Marker that a decoder raises inside Spark for an unseen schema id."""

REFUSED = "penstock.refused"
"""Marker that a batch raises inside Spark for a rejected message if `failure_mode` is THROW."""

UNFIT = "penstock.unfit"
"""Marker that a batch raises inside Spark for a row that the sink cannot write, if the row cannot be left out alone."""


class UnknownSchemas(Exception):
    """Raised if a batch contains schema ids the decoder has not learned yet."""


class Refused(Exception):
    """Raised if a batch contains a rejected message and the query must stop."""


class UnfitRows(Exception):
    """Raised if a batch contains rows the sink cannot write; the messages must be found first."""


class _Kind(NamedTuple):
    pattern: str
    error: type[PenstockError]
    hint: str = ""


_KINDS = (
    _Kind(
        r"DELTA_(CONCURRENT|METADATA_CHANGED|PROTOCOL_CHANGED)|"
        r"(Concurrent(Append|DeleteRead|DeleteDelete|Transaction|Write)|MetadataChanged)Exception",
        TableChanged,
        "it is tried again",
    ),
    _Kind(r"KAFKA_DATA_LOSS|OffsetOutOfRangeException", QueryInterrupted, "records vanished while they were read"),
    _Kind(r"RecordTooLargeException", RecordTooLarge, "raise max.message.bytes on the topic, or make rows smaller"),
    _Kind(
        r"(Topic|Group|Cluster|TransactionalId)AuthorizationException", NotAuthorized, "ask for an ACL that allows it"
    ),
    _Kind(
        r"SaslAuthenticationException|SslAuthenticationException", AuthenticationFailed, "check user and certificate"
    ),
    _Kind(r"UnknownTopicOrPartitionException", TopicNotFound, "`penstock topics list` shows what is there"),
    _Kind(
        r"kafka\.common\.errors\.(Timeout|Disconnect|Network|NotLeader|Retriable)\w*", BrokerUnavailable, "is Kafka up?"
    ),
    _Kind(
        r"No bootstrap urls resolvable|Failed to construct kafka|Failed to create new KafkaAdminClient",
        BrokerUnavailable,
    ),
    _Kind(r"No space left on device|Disk quota exceeded", QueryInterrupted, "the disk is full; it is tried again"),
    _Kind(
        r"java\.net\.(Connect|UnknownHost|NoRouteToHost|Socket|SocketTimeout)Exception|ConnectTimeoutException|"
        r"SdkClientException|AWS(ClientIO|ServiceThrottled|ServiceIO|NoResponse|Status500)Exception|SafeModeException|"
        r"StandbyException",
        QueryInterrupted,
        "is the store there? it is tried again",
    ),
    _Kind(r"OutOfMemoryError", UnknownFailure, "raise spark.driver.memory, or lower max_records of the source"),
    _Kind(
        r"IncompatibleSchemaException",
        QueryFailed,
        "give rows the columns and types of the Avro schema by a transform, or leave `schema` out",
    ),
    _Kind(r"raised by the Python Proxy", QueryFailed, "this is a mistake in Penstock or in a transform of yours"),
    _Kind(r"SQLSTATE: (22\w{3}|21000|23505|54\w{3}|P0001|39000|38000)|PythonException", TransformFailed),
    # Functions that let Java fail on an invalid value: timestamp_millis, casts to decimals, rlike, format_string.
    _Kind(
        r"java\.lang\.(Arithmetic|NumberFormat|StringIndexOutOfBounds)Exception|java\.lang\.StackOverflowError|"
        r"java\.time\.DateTimeException|java\.util\.(regex\.PatternSyntax|\w*Format\w*)Exception",
        TransformFailed,
    ),
)
_CONDITION = re.compile(r"\[(?P<condition>[A-Z0-9_.]+)\] (?P<text>.*?)\s*SQLSTATE: (?P<state>\w{5})", re.DOTALL)
_NO_REASON = {"39000", "58030", "XXKST"}
"""SQLSTATEs without a reason; the reason is in Java's causes."""

_CAUSE = re.compile(r"^Caused by: (?P<cause>.+)$", re.MULTILINE)
_SHOWN = 500


@contextmanager
def spark_failures(tried: str) -> Iterator[None]:
    """Translate Spark's errors inside the block; `tried` describes the attempted step."""
    try:
        yield
    except (PySparkException, Py4JError) as failure:
        raise translate(failure, tried) from failure


def translate(failure: PySparkException | Py4JError, tried: str) -> Exception:
    """Return the error for a Spark failure, with the attempted step, the reason and a hint.

    A marker raised by a batch becomes UnknownSchemas, UnfitRows or Refused.
    """
    text = f"{failure}\n{getattr(failure, '_stackTrace', '')}"
    if UNKNOWN_SCHEMA in text:
        return UnknownSchemas()
    if UNFIT in text:
        return UnfitRows()
    if REFUSED in text:
        return Refused(_after(text, REFUSED))
    kind = next((kind for kind in _KINDS if re.search(kind.pattern, text)), None)
    if kind is not None:
        return kind.error(f"{tried}: {_reason(text)}", hint=kind.hint)
    if isinstance(failure, AnalysisException | ParseException):
        return QueryFailed(f"{tried}: {_reason(text)}", hint="correct the query")
    return UnknownFailure(f"{tried}: {_reason(text)}")


def as_error(failure: BaseException) -> PenstockError:
    """Return the failure as a PenstockError; wrap an untranslated exception in UnknownFailure."""
    return failure if isinstance(failure, PenstockError) else UnknownFailure(f"a batch was cut off: {failure!r}")


def _reason(text: str) -> str:
    """Return the innermost reason: Spark's last error condition about the data, else Java's last cause."""
    conditions = [found for found in _CONDITION.finditer(text) if found["state"] not in _NO_REASON]
    causes = _CAUSE.findall(text)
    said = conditions[-1]["text"] if conditions else causes[-1] if causes else text.strip().splitlines()[0]
    return " ".join(said.split())[:_SHOWN]


def _after(text: str, marker: str) -> str:
    """Return the text between a marker and the end of the marker's line."""
    return text.split(f"{marker} ", 1)[1].splitlines()[0].split(" SQLSTATE:")[0]
