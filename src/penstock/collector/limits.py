"""Limits on connections and request heads. uvicorn limits neither the size nor the duration of a head."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from penstock.collector.answers import RETRY_SECONDS, Answer, refusal
from penstock.collector.one_write import JoinedWrites, OneWrite
from penstock.collector.refusals import Busy, HeadTooLarge, NotHttp, Refusal, TooSlow

REFUSED = "penstock.refused"
"""Key of the scope for the Refusal to answer with, if a request is refused before its body is read."""

MAX_HEAD = 64 * 1024
HEAD_SECONDS = 30.0

_SURELY_SMALL = 8 * 1024
"""Size of a piece of data that needs no check of the head's size. Nearly all requests are smaller."""

_SLOWEST = 16 * 1024
"""Bytes that a client must read between two checks. A slower client would keep a connection and memory busy."""

_LATER = "come back later"
_ALWAYS_SERVED = {b"/healthz", b"/readyz", b"/metrics"}

Head = list[tuple[bytes, bytes]]


class LimitedRequests(OneWrite):
    """Protocol that serves `limit_concurrency` connections and refuses more, except for health and metrics paths.

    A head must arrive within the time limit, and so must the rest of a body that was answered early. Each connection
    has a timer that fires twice within the limit, so requests need no timers; the actual limit lies between half and
    all of the time. The timer also ends connections whose client does not read answers.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - uvicorn's arguments
        super().__init__(*args, **options)
        self._most, self.limit_concurrency = self.limit_concurrency or sys.maxsize, None
        self._whole_head: Head | None = None
        self._counted_head: Head | None = None
        self._counted = 0
        self._may_be_large = False
        self._seen: object | None = None
        self._without_body = 0
        self._unsent, self._sent = 0, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Start monitoring the connection."""
        super().connection_made(transport)
        self._came_too_many = len(self.connections) > self._most
        self._timer = self.loop.call_later(HEAD_SECONDS / 2, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop monitoring the connection."""
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received data, unless the head has grown too large."""
        if len(data) > _SURELY_SMALL:
            self._may_be_large = True
        self._without_body += len(data)
        super().data_received(data)
        if self.headers is not self._whole_head:
            self._count(len(data))
        elif self._without_body > MAX_HEAD and self._is_body_arriving():
            self._refuse(_too_large())

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header of the head. Ignore trailers after a chunked body, and anything else between chunks."""
        if self.headers is not self._whole_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Process a piece of the body."""
        self._without_body = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Serve the request, or refuse the request before reading the body."""
        self._whole_head = self.headers
        self._without_body = 0
        if not (self._may_be_large or self._came_too_many or len(self.tasks) >= self._most):
            super().on_headers_complete()
            return
        refused, self._may_be_large = self._why_refused(), False
        if refused is not None:
            cast("dict[str, Any]", self.scope)[REFUSED] = refused
        super().on_headers_complete()
        if refused is not None or self._came_too_many:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP in the format of all other errors."""
        self._refuse(NotHttp(msg))

    def _count(self, size: int) -> None:
        """Count bytes of an incomplete head.

        The first piece is not counted, because it may begin with an earlier request.
        """
        self._may_be_large = True
        if self._counted_head is not self.headers:
            self._counted_head, self._counted = self.headers, 0
            return
        self._counted += size
        if self._counted > MAX_HEAD:
            self._refuse(_too_large())

    def _why_refused(self) -> Refusal | None:
        if self._may_be_large and self._size_of_head() > MAX_HEAD:
            return _too_large()
        is_full = (self._came_too_many and len(self.connections) > self._most) or len(self.tasks) >= self._most
        if is_full and self.url not in _ALWAYS_SERVED:
            return Busy("too many clients are connected", hint=_LATER, headers={"retry-after": RETRY_SECONDS})
        return None

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _look(self) -> None:
        """End the connection if the same work is unfinished as at the previous check."""
        self._timer = self.loop.call_later(HEAD_SECONDS / 2, self._look)
        if self._is_stuck():
            self.transport.abort()  # `close` would wait until the client has read everything
            return
        unfinished = self._unfinished()
        if unfinished is None or unfinished is not self._seen:
            self._seen = unfinished
        elif unfinished is self.headers:
            self._refuse(TooSlow(f"the head did not arrive within {HEAD_SECONDS:g} seconds"))
        else:
            self.transport.close()

    def _is_stuck(self) -> bool:
        """Whether the client has read almost nothing of its pending data since the previous check."""
        transport = cast("JoinedWrites", self.transport)
        before, sent = self._unsent, transport.sent() - self._sent
        self._unsent, self._sent = transport.unsent(), transport.sent()
        return before > 0 and sent < min(before, _SLOWEST)

    def _unfinished(self) -> object | None:
        """Return the head or the answered request that is still arriving; None while an answer is being prepared."""
        if self._is_answering():
            return None
        if self.headers is not self._whole_head:
            return self.headers
        if self._whole_head is None:
            return self  # nothing received yet
        return self.cycle if self._is_body_arriving() else None

    def _is_body_arriving(self) -> bool:
        return getattr(self.cycle, "more_body", False)

    def _refuse(self, error: Refusal) -> None:
        """Answer an incomplete request and close. Do not write into the answer of an earlier request."""
        if self.transport.is_closing():
            return
        if not self._is_answering():
            self.transport.write(_as_bytes(refusal(error)))
        self.transport.close()

    def _is_answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)  # there is no cycle before the first request


def _too_large() -> Refusal:
    return HeadTooLarge(f"the request's head is larger than {MAX_HEAD:,} bytes", hint="send fewer or shorter headers")


def _as_bytes(answer: Answer) -> bytes:
    """Return the answer in wire format, for requests too incomplete to be answered through uvicorn."""
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(answer.body)
    return STATUS_LINE[answer.status] + head + answer.body
