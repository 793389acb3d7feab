"""The catalog as the console sees it: read, never written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.catalog.database import Connection, Database
from penstock.config import Settings

_WAIT_SECONDS = 5
_ANSWER_MS = 10_000


class CatalogReader:
    """Transactions that can only read, and end when an answer takes too long.

    It connects when it is first asked, so that the console starts though PostgreSQL is away; whoever asks meanwhile
    gets DatabaseUnavailable.
    """

    def __init__(self, settings: Settings) -> None:
        self._database = Database(settings.model_copy(update={"timeout": min(settings.timeout, _WAIT_SECONDS)}))
        self._is_open = False

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for one answer."""
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
