"""An answer's head and body in one write, so that the kernel and whoever reads are troubled once."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OneWrite(HttpToolsProtocol):
    """uvicorn's protocol, which writes the two apart, on a transport that joins them."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Stand between the protocol and its transport."""
        super().connection_made(cast("asyncio.Transport", JoinedWrites(transport, self.loop)))


class JoinedWrites:
    """A transport whose writes wait for the end of the loop's turn, or for its close, and travel together."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []
        self._written = 0
        self.is_closing = transport.is_closing  # asked with every answer, so not through __getattr__

    def write(self, data: bytes) -> None:
        """Take bytes along."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Write what waits, then close."""
        self._flush()
        self._transport.close()

    def unsent(self) -> int:
        """The bytes that the kernel has not accepted, since the client does not read."""
        return self._transport.get_write_buffer_size()

    def sent(self) -> int:
        """The bytes that the kernel has accepted since the connection was made."""
        return self._written - self.unsent()

    def _flush(self) -> None:
        if self._waiting:
            together = b"".join(self._waiting)
            self._written += len(together)
            self._transport.write(together)
            self._waiting.clear()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - all else is the transport's own affair
        """Everything else is as the transport does it."""
        return getattr(self._transport, name)
