"""A gate before a server: while it is shut, nobody gets through, as if the server were away."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Gate:
    """Passes connections on to a port of this machine while it is open."""

    def __init__(self, port: int) -> None:
        self._target = ("localhost", port)
        self._listening = socket.create_server(("localhost", 0))
        self._is_open = threading.Event()
        self._is_open.set()
        self._passing: list[socket.socket] = []

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shut()
        self._listening.close()

    def open(self) -> None:
        self._is_open.set()

    def shut(self) -> None:
        """Cut what goes through, and let nobody in."""
        self._is_open.clear()
        for each in self._passing:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self._is_open.is_set():
                    self._pass_on(client)
                else:
                    client.close()

    def _pass_on(self, client: socket.socket) -> None:
        server = socket.create_connection(self._target)
        self._passing += [client, server]
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=_pump, args=(source, target), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.close()
