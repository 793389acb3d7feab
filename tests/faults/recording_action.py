"""An action that writes a row for each time it handles an event, so that repeats and order can be seen afterwards."""

from __future__ import annotations

import os
import time
from threading import local
from typing import Any

import psycopg
from psycopg import sql

from penstock.actions.context import PipelineContext
from penstock.errors import DatabaseUnavailable
from penstock.events.envelope import EventEnvelope

STATEMENT = "INSERT INTO {} (part, place, key, number, process) VALUES (%s, %s, %s, %s, %s)"


class Recording:
    """Waits `wait` seconds and writes to `table`; `create`, `act` and `close`, without a base class."""

    def __init__(self, database: str, table: str, wait: float) -> None:
        self._database = database
        self._statement = sql.SQL(STATEMENT).format(sql.Identifier(table))
        self._wait = wait
        self._mine = local()

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Recording:
        return cls(ctx.settings.database.get_secret_value(), config["table"], config.get("wait", 0.0))

    def act(self, event: EventEnvelope) -> None:
        time.sleep(self._wait)
        place, body = event.meta["kafka"], event.event
        row = [place["partition"], place["offset"], body["key"], body["number"], os.getpid()]
        try:
            self._connection().execute(self._statement, row)
        except psycopg.OperationalError as error:
            self._mine.connection = None
            raise DatabaseUnavailable(str(error)) from error

    def close(self) -> None:
        pass

    def _connection(self) -> psycopg.Connection[Any]:
        if getattr(self._mine, "connection", None) is None:
            self._mine.connection = psycopg.connect(self._database, autocommit=True)
        connection: psycopg.Connection[Any] = self._mine.connection
        return connection
