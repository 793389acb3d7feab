"""Read-only access to the catalog for the console."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.catalog.database import Connection, Database
from penstock.config import Settings

_WAIT_SECONDS = 5
_ANSWER_MS = 10_000


class CatalogReader:
    """Read-only transactions with a time limit for each answer.

    The first request connects, so the console starts even if PostgreSQL is unreachable. Requests raise
    DatabaseUnavailable until PostgreSQL answers.
    """

    def __init__(self, settings: Settings) -> None:
        self._database = Database(settings.model_copy(update={"timeout": min(settings.timeout, _WAIT_SECONDS)}))
        self._is_open = False

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Provide a connection for one answer."""
        if not self._is_open:
            self._database.open()
            self._is_open = True
        with self._database.transaction() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.execute(f"SET LOCAL statement_timeout = {_ANSWER_MS}".encode())
            yield connection

    def close(self) -> None:
        """Disconnect."""
        self._database.close()
