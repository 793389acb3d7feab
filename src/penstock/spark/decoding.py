"""What every decoder of messages promises, and the columns that messages have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

MESSAGE_COLUMNS: Final = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
KAFKA: Final = "_kafka"
"""The column in which a row takes along where it came from: a struct of the message's columns but for the value."""

PROBLEM: Final = "problem"
"""The column that says why a message is refused: a struct of `code` and `message`, or null for a good one."""

PARSED: Final = "parsed"
"""The column in which a decoder may keep the row."""

MOST_STRANGE: Final = 10_000
"""How many messages of schemas not seen before `learn` looks at: more of them are learnt when the batch is tried again,
and nearly always the first ones tell all."""


class Decoder(Protocol):
    """Turns messages into rows by expressions of the JVM alone.

    Every message gets a row or a problem: none is dropped, and none is taken that does not fit. The only failure is
    that of a schema not seen before, which `learn` mends.
    """

    @property
    def schema(self) -> T.StructType:
        """The columns of the rows."""
        ...

    def decode(self, messages: DataFrame) -> DataFrame:
        """The messages with the column `problem` beside theirs, and with what `fields` takes the row from."""
        ...

    def fields(self) -> Sequence[Column]:
        """The row's columns, taken from what `decode` gave."""
        ...

    def learn(self, messages: DataFrame) -> None:
        """Find out about schemas of these messages that were not seen before: of one of them at least."""
        ...


def problem(code: str, message: Column) -> Column:
    """A problem: a stable code and a text."""
    return F.struct(F.lit(code).alias("code"), message.alias("message"))


def is_refused() -> Column:
    """Whether a decoded message has a problem."""
    return F.col(PROBLEM).isNotNull()


def origin_of(topic: Column, partition: Column, offset: Column) -> Column:
    """Where a message stands, written `<topic>/<partition>/<offset>`."""
    return F.concat_ws("/", topic, partition.cast("string"), offset.cast("string"))


def without_origin(schema: T.StructType) -> T.StructType:
    """The columns that a sink writes: all but the one that says where a row comes from."""
    return T.StructType([field for field in schema.fields if field.name != KAFKA])


def quoted(name: str) -> str:
    """A column's name as Spark takes it literally."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
