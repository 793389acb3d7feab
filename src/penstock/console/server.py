"""HTTP server of the console."""

from __future__ import annotations

import socket

import uvicorn

from penstock.config import Settings
from penstock.config.listening import SERVER_OPTIONS, survive_signals
from penstock.console.app import make_app

_MOST_REQUESTS = 100
_MOST_HEAD_BYTES = 16 * 1024
_LAST_ANSWERS_SECONDS = 5


def serve(settings: Settings, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT, then finish the responses in progress and return."""
    survive_signals()
    config = uvicorn.Config(
        make_app(settings),
        http="h11",  # the only implementation that limits the size of a request's head
        h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
        limit_concurrency=_MOST_REQUESTS,
        timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
        **SERVER_OPTIONS,
    )
    uvicorn.Server(config).run([listener])
