"""Join an answer's head and body in one write, to save a system call and a wake-up of the reader."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OneWrite(HttpToolsProtocol):
    """uvicorn's protocol on a transport that joins the separate writes of head and body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Wrap the transport."""
        super().connection_made(cast("asyncio.Transport", JoinedWrites(transport, self.loop)))


class JoinedWrites:
    """Transport that buffers writes until the end of the loop's turn, or until close, and then joins the writes."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []
        self._written = 0
        self.is_closing = transport.is_closing  # called for every answer, so not through __getattr__

    def write(self, data: bytes) -> None:
        """Buffer the data."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Write the buffered data, then close."""
        self._flush()
        self._transport.close()

    def unsent(self) -> int:
        """Return the bytes not accepted by the kernel yet, because the client does not read."""
        return self._transport.get_write_buffer_size()

    def sent(self) -> int:
        """Return the bytes accepted by the kernel since the connection was made."""
        return self._written - self.unsent()

    def _flush(self) -> None:
        if self._waiting:
            together = b"".join(self._waiting)
            self._written += len(together)
            self._transport.write(together)
            self._waiting.clear()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of the transport
        """Delegate everything else to the transport."""
        return getattr(self._transport, name)
