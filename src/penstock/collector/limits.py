"""Limits on connections and on requests' heads, which uvicorn's protocol takes as large and as slow as they come."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from penstock.collector.answers import RETRY_SECONDS, Answer, refusal
from penstock.collector.one_write import JoinedWrites, OneWrite
from penstock.collector.refusals import Busy, HeadTooLarge, NotHttp, Refusal, TooSlow

REFUSED = "penstock.refused"
"""Where the scope of a request has the refusal that is its answer, if it is refused before its body is looked at."""

MAX_HEAD = 64 * 1024
HEAD_SECONDS = 30.0

_SURELY_SMALL = 8 * 1024
"""Bytes that came at once and need no closer look; nearly all requests are of this kind."""

_SLOWEST = 16 * 1024
"""Bytes that a client reads at least between two looks; who reads less keeps a connection and memory for nothing."""

_LATER = "come back later"
_ALWAYS_SERVED = {b"/healthz", b"/readyz", b"/metrics"}

Head = list[tuple[bytes, bytes]]


class LimitedRequests(OneWrite):
    """Serves `limit_concurrency` connections; more are refused in our words, but for questions about health.

    A head, and the rest of a body that was answered before it had arrived, may take between half of the time and all of
    it: a timer of each connection looks twice in that time, so that requests cost none. It also ends the connections of
    clients that do not read their answers.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as uvicorn makes its protocols
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
        """Begin to watch over the connection."""
        super().connection_made(transport)
        self._came_too_many = len(self.connections) > self._most
        self._timer = self.loop.call_later(HEAD_SECONDS / 2, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no longer."""
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request, unless the head that it belongs to grows too large."""
        if len(data) > _SURELY_SMALL:
            self._may_be_large = True
        self._without_body += len(data)
        super().data_received(data)
        if self.headers is not self._whole_head:
            self._count(len(data))
        elif self._without_body > MAX_HEAD and self._is_body_arriving():
            self._refuse(_too_large())

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header of a head; those after a chunked body are left out, like what else stands between chunks."""
        if self.headers is not self._whole_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._without_body = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """A head is whole: its request is served, or refused before its body is looked at."""
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
        """Answer what is not HTTP as everything else is answered."""
        self._refuse(NotHttp(msg))

    def _count(self, size: int) -> None:
        """Count a piece of a head that is not whole yet; its first piece may begin with an earlier request."""
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
        """End the connection if what was unfinished the last time still is."""
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
        """Whether the client has read next to nothing since the last look of what waited for it then."""
        transport = cast("JoinedWrites", self.transport)
        before, sent = self._unsent, transport.sent() - self._sent
        self._unsent, self._sent = transport.unsent(), transport.sent()
        return before > 0 and sent < min(before, _SLOWEST)

    def _unfinished(self) -> object | None:
        """The head that is arriving, or the answered request whose body is; nothing while an answer is being made."""
        if self._is_answering():
            return None
        if self.headers is not self._whole_head:
            return self.headers
        if self._whole_head is None:
            return self  # it has said nothing yet
        return self.cycle if self._is_body_arriving() else None

    def _is_body_arriving(self) -> bool:
        return getattr(self.cycle, "more_body", False)

    def _refuse(self, error: Refusal) -> None:
        """Answer what is no whole request, but not in the place of an earlier one's answer; and close."""
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
    """An answer as it stands on the wire, where no request is whole enough to be answered through uvicorn."""
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(answer.body)
    return STATUS_LINE[answer.status] + head + answer.body
