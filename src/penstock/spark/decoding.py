"""The decoder protocol and the columns of messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

MESSAGE_COLUMNS: Final = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
KAFKA: Final = "_kafka"
"""The column with a row's origin: a struct of the message's columns except the value."""

PROBLEM: Final = "problem"
"""The column with the reason for a rejection: a struct of `code` and `message`; null for a valid message."""

PARSED: Final = "parsed"
"""The column in which a decoder may store the parsed row."""

MOST_STRANGE: Final = 10_000
"""Maximum number of messages with unseen schemas that `learn` inspects. A retry of the batch learns the rest; nearly
always, the first messages contain all schemas."""


class Decoder(Protocol):
    """Decoder of messages into rows, built from JVM expressions only.

    Every message yields a row or a problem: no message is dropped, and no invalid message is accepted. Decoding fails
    only on an unseen schema; call `learn` and decode again.
    """

    @property
    def schema(self) -> T.StructType:
        """The columns of the rows."""
        ...

    def decode(self, messages: DataFrame) -> DataFrame:
        """Add the column `problem` to the messages, and the columns read by `fields`."""
        ...

    def fields(self) -> Sequence[Column]:
        """Return the row's columns, taken from the result of `decode`."""
        ...

    def learn(self, messages: DataFrame) -> None:
        """Look up unseen schemas of the messages: at least one schema per call."""
        ...


def problem(code: str, message: Column) -> Column:
    """Return a problem: a stable code and a text."""
    return F.struct(F.lit(code).alias("code"), message.alias("message"))


def is_refused() -> Column:
    """Whether a decoded message has a problem."""
    return F.col(PROBLEM).isNotNull()


def origin_of(topic: Column, partition: Column, offset: Column) -> Column:
    """Return a message's origin as `<topic>/<partition>/<offset>`."""
    return F.concat_ws("/", topic, partition.cast("string"), offset.cast("string"))


def without_origin(schema: T.StructType) -> T.StructType:
    """Return the columns written by a sink: all except the origin column `_kafka`."""
    return T.StructType([field for field in schema.fields if field.name != KAFKA])


def quoted(name: str) -> str:
    """Quote a column name so that Spark reads it literally."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
