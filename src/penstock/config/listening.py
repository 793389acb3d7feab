"""Listening sockets and signal handling of our servers."""

from __future__ import annotations

import errno
import logging
import signal
import socket
from collections.abc import Mapping
from typing import Any, Final

from penstock.errors import PortInUse, UsageError

_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 30

SERVER_OPTIONS: Final[Mapping[str, Any]] = {
    "ws": "none",
    "lifespan": "on",
    "log_config": None,
    "log_level": logging.WARNING,
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "timeout_keep_alive": _KEEP_ALIVE_SECONDS,
}
"""Options of every uvicorn server: log only warnings and errors, and do not send a `Server` header."""


def listen(host: str, port: int, setting: str) -> socket.socket:
    """Return a socket that listens on the address. Raise PortInUse, naming the setting, if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            hint = f"stop the program that has it, or choose another with --port or {setting}"
            raise PortInUse(f"port {port} on {host} is in use", hint=hint) from error
        hint = f"--host is an address of this machine, --port (or {setting}) a port that you may open"
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}", hint=hint) from error


def survive_signals() -> None:
    """Ignore SIGTERM and SIGINT outside of a server's run; a running uvicorn handles both.

    After a graceful shutdown, uvicorn raises the signal again for the handler installed before its start.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)
