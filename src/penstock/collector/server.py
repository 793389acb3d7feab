"""Server of the collector: a process, or several on a shared port. Dead processes are replaced."""

from __future__ import annotations

import gc
import os
import signal
import socket
import tempfile
import threading
from functools import partial
from multiprocessing import parent_process
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from penstock.collector.app import make_app
from penstock.collector.config import CollectorSettings
from penstock.collector.limits import LimitedRequests
from penstock.collector.topics import load_topics
from penstock.config import Settings
from penstock.config.listening import SERVER_OPTIONS, survive_signals

_LAST_BYTES_SECONDS = 5
_NEW_OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""More than the objects of the events underway. Events are freed by reference counting, without a search for cycles."""


def serve(settings: Settings, collector: CollectorSettings, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT. Then accept no more, wait for Kafka's acknowledgements, and return."""
    survive_signals()
    if collector.workers == 1:
        uvicorn.Server(_config(settings, collector)).run([listener])
        return
    with tempfile.TemporaryDirectory(prefix="penstock-collector-") as shared:
        Multiprocess(_config(settings, collector, Path(shared)), [listener]).run()


def _config(settings: Settings, collector: CollectorSettings, shared: Path | None = None) -> uvicorn.Config:
    return uvicorn.Config(
        partial(_worker, settings, collector, shared),
        factory=True,
        loop="uvloop",
        http=LimitedRequests,
        workers=collector.workers,
        limit_concurrency=collector.connections,
        timeout_graceful_shutdown=int(collector.answer_within) + _LAST_BYTES_SECONDS,
        **SERVER_OPTIONS,
    )


def _worker(settings: Settings, collector: CollectorSettings, shared: Path | None) -> ASGIApp:
    """Create the application inside the worker process."""
    if (parent := parent_process()) is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    app = make_app(settings, collector, load_topics(collector), shared)
    gc.collect()
    gc.freeze()  # these objects live as long as the process, so the garbage collector need not scan them
    gc.set_threshold(_NEW_OBJECTS_BETWEEN_COLLECTIONS)
    return app


def _end_with(parent: object) -> None:
    """End the worker when its parent is killed. Otherwise the worker would hold the port forever."""
    parent.join()  # type: ignore[attr-defined]
    os.kill(os.getpid(), signal.SIGTERM)
