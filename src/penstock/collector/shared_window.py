"""Window shared by several workers. The first worker to claim an id sends the event, the rest poll for the result."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from penstock.collector.answers import RETRY_SECONDS
from penstock.collector.claims import Claims
from penstock.collector.refusals import Busy
from penstock.collector.window import EventKey, OwnWindow
from penstock.errors import DeliveryFailed
from penstock.kafka.acknowledged import Batch, Delivery, Underway

_LOOK_SECONDS = 0.01
_LOOKS_AT_ONCE = 100
_REST_PER_WORK = 4
"""Factor between rest and work: polling takes at most a fifth of the worker's time, for any number of claims."""


class SharedWindow:
    """`Window` over the claims of all workers. Each worker also keeps its own part in memory."""

    def __init__(self, directory: Path, seconds: float, most: int) -> None:
        self._claims = Claims(directory, seconds)
        self._own = OwnWindow(seconds, most, on_forget=self.let_go)
        self._elsewhere = _Elsewhere(self._claims)
        self._claimed: dict[EventKey, Path] = {}  # by `find`, until `remember` or `let_go` follows

    def find(self, key: EventKey) -> Delivery | None:
        """Return the delivery of any worker. Raise Busy if the id cannot be claimed.

        Without a claim, two workers might send the event.
        """
        known = self._own.find(key)
        if known is not None:
            return known
        link = self._claims.link(key)
        try:
            is_first = self._claims.make(link)
        except OSError as error:
            message = f"the event's id cannot be noted for the other workers: {error.strerror}"
            raise Busy(message, hint="send it again", headers={"retry-after": RETRY_SECONDS}) from error
        if not is_first:
            return self._elsewhere.delivery(link)
        self._claimed[key] = link
        return None

    def remember(self, key: EventKey, delivery: Delivery) -> None:
        """Store the delivery, and publish the result to all workers through the claim."""
        self._own.remember(key, delivery)
        link = self._claimed.pop(key, None) or self._claim_late(key)
        note = _Note(self._claims, link, delivery)
        delivery.join(note)
        if delivery.settled:
            note.wake()

    def let_go(self, key: EventKey) -> None:
        """Forget the event, and drop this worker's claim on the id."""
        link = self._claimed.pop(key, None) or self._claims.link(key)
        with suppress(OSError):  # on a read-only disk, the claim stays until it expires
            self._claims.drop(link)

    def _claim_late(self, key: EventKey) -> Path:
        """Claim a generated id, which the client only learns from the answer."""
        link = self._claims.link(key)
        with suppress(OSError):  # the event is underway, and known to this worker at least
            self._claims.make(link)
        return link


class _Note(Batch):
    """Waits for a delivery of this worker, to publish the result to all workers."""

    def __init__(self, claims: Claims, link: Path, delivery: Delivery) -> None:
        super().__init__(asyncio.get_running_loop())
        self._claims = claims
        self._link = link
        self._delivery = delivery

    def wake(self) -> None:
        """Mark the claim as done, or drop the claim if the delivery failed."""
        settle = self._claims.finish if self._delivery.error is None else self._claims.drop
        with suppress(OSError):  # with a full disk, the claim stays underway: other workers answer "unknown"
            settle(self._link)


class _Elsewhere:
    """Events underway in other workers, awaited by requests of this worker. A single task polls all claims."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._awaited: dict[Path, Delivery] = {}
        self._looking: asyncio.Task[None] | None = None

    def delivery(self, link: Path) -> Delivery:
        """Return a remote worker's delivery. Requests share the delivery while the event is underway."""
        awaited = self._awaited.get(link)
        if awaited is not None:
            return awaited
        awaited = Delivery(0, [], Underway(records=1))
        claim = self._claims.read(link)
        if claim is not None and claim.is_done:
            awaited.settle()
            return awaited
        self._awaited[link] = awaited
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return awaited

    async def _look(self) -> None:
        """Poll all claims, with a rest in between, until none is awaited."""
        while self._awaited:
            work = 0.0
            links = list(self._awaited)
            for start in range(0, len(links), _LOOKS_AT_ONCE):
                began = perf_counter()
                for link in links[start : start + _LOOKS_AT_ONCE]:
                    self._look_at(link)
                work += perf_counter() - began
                await asyncio.sleep(0)
            await asyncio.sleep(max(_LOOK_SECONDS, work * _REST_PER_WORK))

    def _look_at(self, link: Path) -> None:
        awaited, claim = self._awaited[link], self._claims.read(link)
        if awaited.waiting and claim is not None and not claim.is_done:
            if claim.is_dead:
                self._claims.drop_dead(link)
            return
        del self._awaited[link]
        if claim is None:
            # The delivery failed, is in doubt, or its worker died. A missing claim does not show which.
            awaited.in_doubt = True
            awaited.fail(DeliveryFailed("another worker took this event and may not have brought it to Kafka"))
        elif claim.is_done:
            awaited.settle()
