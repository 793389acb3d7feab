"""A Spark session for the duration of a block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from penstock.errors import QueryFailed
from penstock.spark.session import start_session


@contextmanager
def open_session(
    name: str, *, java_home: Path, jars: Sequence[Path], conf: Mapping[str, object], master: str = "local[*]"
) -> Iterator[SparkSession]:
    """Yield the active session, or start a session with the given settings.

    A session that was already active keeps running after the block. A started session is stopped if the block succeeds.
    """
    running = SparkSession.getActiveSession()
    session = running or start_session(name, java_home=java_home, jars=jars, conf=conf, master=master)
    with java_is_there():
        yield session
        if running is None:
            session.stop()


@contextmanager
def java_is_there() -> Iterator[None]:
    """Raise QueryFailed with an explanation if Spark's Java process does not respond."""
    try:
        yield
    except (Py4JNetworkError, ConnectionRefusedError) as error:
        hint = "was it killed, or out of memory? raise spark.driver.memory; a new start goes on where this one was"
        raise QueryFailed("the Java process of Spark is gone", hint=hint) from error
