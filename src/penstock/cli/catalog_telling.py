"""Background registration of Penstock's own outputs in the catalog, repeated after changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event, Thread

from penstock.catalog.database import Database
from penstock.catalog.own_datasets import OwnDataset, register
from penstock.cli.output import err, text
from penstock.config.settings import LoadedSettings
from penstock.errors import PenstockError

Statements = Mapping[str, Sequence[OwnDataset]]
"""Statements about datasets, keyed by the writing pipeline."""

_PAUSE_SECONDS = 60.0
_LAST_SECONDS = 5.0


@contextmanager
def told_to_catalog(find: Callable[[], Statements], loaded: LoadedSettings) -> Iterator[None]:
    """Register the statements of `find` in the catalog during the block, after each change and once at the end.

    An unreachable catalog delays nobody: registration is retried later. The user sees a note only if the catalog's
    address is configured.
    """
    stop = Event()
    thread = Thread(target=_keep_telling, args=(find, loaded, stop), name="penstock-catalog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(_LAST_SECONDS)


def _keep_telling(find: Callable[[], Statements], loaded: LoadedSettings, stop: Event) -> None:
    told: Statements = {}
    complained = "database" not in loaded.sources
    is_last = False
    while not is_last:
        is_last = stop.is_set()
        try:
            told = _tell(find(), told, loaded)
        except PenstockError as error:
            if not complained:
                err.print(f"[yellow]note[/] the catalog does not know of this yet: {text(error.message)}")
            complained = True
        stop.wait(_PAUSE_SECONDS)


def _tell(found: Statements, told: Statements, loaded: LoadedSettings) -> Statements:
    """Register new statements. Return the statements now registered."""
    if found != told:
        with Database(loaded.settings, size=1) as database:
            for pipeline, datasets in found.items():
                register(database, pipeline, datasets, datetime.now(UTC))
    return found
