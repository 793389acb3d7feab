"""Request bodies, limited in size and in reading time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from starlette.types import Message, Receive

from penstock.collector.compression import unpacked
from penstock.collector.deadlines import Deadlines
from penstock.collector.refusals import Busy, NotJson, TooLarge, TooSlow

Headers = Mapping[bytes, bytes]


@dataclass
class Memory:
    """Free bytes for bodies that are still arriving, over all requests."""

    free: int

    def take(self, size: int) -> None:
        """Reserve bytes, or refuse the request if too few are free."""
        if size > self.free:
            raise Busy("too many large bodies arrive at once", headers={"retry-after": "1"})
        self.free -= size


@dataclass(frozen=True)
class BodyReader:
    """Reads bodies of at most `limit` bytes, before and after decompression, each before its deadline."""

    limit: int
    deadlines: Deadlines
    memory: Memory
    loop: asyncio.AbstractEventLoop

    async def read(self, headers: Headers, receive: Receive) -> bytes:
        """Return the whole body, decompressed."""
        task = cast("asyncio.Task[object]", asyncio.current_task(self.loop))
        deadline = self.deadlines.start(task.cancel)
        try:
            message = await receive()
            body = _part(message)
            if message.get("more_body"):
                self._check_length(headers)
                body += await self._rest(len(body), receive)
        except asyncio.CancelledError:
            if self.deadlines.stop(deadline):
                raise
            task.uncancel()
            raise TooSlow(f"the body did not arrive within {self.deadlines.seconds:g} seconds") from None
        finally:
            self.deadlines.stop(deadline)
        self._check(len(body))
        encoding = headers.get(b"content-encoding")
        return body if encoding is None else unpacked(body, encoding.decode("latin-1"), self.limit)

    async def _rest(self, size: int, receive: Receive) -> bytes:
        rest, more = bytearray(), True
        try:
            while more:
                message = await receive()
                part = _part(message)
                self.memory.take(len(part))
                rest += part
                self._check(size + len(rest))
                more = message.get("more_body", False)
            return bytes(rest)
        finally:
            self.memory.free += len(rest)

    def _check_length(self, headers: Headers) -> None:
        length = headers.get(b"content-length", b"0")
        if length.isdigit():
            self._check(int(length))

    def _check(self, size: int) -> None:
        if size > self.limit:
            raise TooLarge(f"the body is larger than {self.limit:,} bytes", hint="send fewer events at once")


def _part(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise NotJson("the client left before its body had arrived")
    part: bytes = message.get("body", b"")
    return part
