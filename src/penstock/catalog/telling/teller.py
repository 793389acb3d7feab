"""Background publisher: sends committed changes in a separate thread while the jobs run."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Self

from penstock.catalog.database import Database
from penstock.catalog.telling.outbox import Sender
from penstock.config import Settings
from penstock.errors import PenstockError, Transient

_PAUSE_SECONDS = 2.0
_log = logging.getLogger(__name__)


class Teller:
    """Publishes the outbox while the block runs. Unsent changes stay in the outbox.

    Transient errors are retried. A permanent error is stored in `failure`: the jobs continue, and their changes wait in
    the outbox.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)
        self.failure: PenstockError | None = None

    def __enter__(self) -> Self:
        """Start publishing."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, after pending messages are delivered."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with Sender(self._database, self._settings) as sender:
                    sender.run(self._stop)
            except Transient as error:
                _log.warning("changes wait to be told: %s", error)
                self._stop.wait(_PAUSE_SECONDS)
            except PenstockError as error:
                _log.error("changes are not told any more: %s", error)
                self.failure = error
                return
