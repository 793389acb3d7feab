"""Ports on localhost: find free ports and refuse ports in use."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection, Iterable
from itertools import count, islice

from penstock.config.settings import Ports
from penstock.errors import PortInUse
from penstock.local.part import Part

HOST = "127.0.0.1"
_LAST_PORT = 65535
_NEVER_OUTGOING = range(20_000, 32_768)
"""Range below the ephemeral ports: an outgoing connection cannot take the port of a stopped part."""


def is_free(port: int) -> bool:
    """Whether a part could listen on this port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def listens(port: int) -> bool:
    """Whether a server accepts connections on this port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def free_ports(number: int, taken: Collection[int] = ()) -> tuple[int, ...]:
    """Return unused ports that are not in `taken`."""
    shuffled = random.sample(_NEVER_OUTGOING, len(_NEVER_OUTGOING))
    return tuple(islice((port for port in shuffled if port not in taken and is_free(port)), number))


def free_port_settings() -> Ports:
    """Return a free port for every part, for a stack isolated from all others."""
    names = Ports.model_fields
    return Ports(**dict(zip(names, free_ports(len(names)), strict=True)))


def next_free_ports(first: int, number: int, taken: Collection[int]) -> tuple[int, ...]:
    """Return the first port unchanged, followed by the next free ports."""
    above = (port for port in count(first + 1) if port > _LAST_PORT or (port not in taken and is_free(port)))
    return first, *islice(above, number - 1)


def check_ports(parts: Iterable[Part]) -> None:
    """Raise PortInUse, with the setting's name, for the first port used by a different program."""
    for part in parts:
        for setting, port in part.ports.items():
            if not is_free(port):
                variable = f"PENSTOCK_{setting.upper().replace('.', '_')}"
                raise PortInUse(
                    f"port {port} (setting {setting}) for {part.name} is in use by another program",
                    hint=f"stop that program, or choose another port: {variable}={port + 1000} penstock up",
                    port=port,
                    setting=setting,
                )
