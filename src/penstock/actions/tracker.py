"""Which events are done: offsets may be committed up to the first one that is not, whatever is done behind it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from threading import Condition, Lock
from time import monotonic

from penstock.events.record import ConsumerRecord, Offset, Origin
from penstock.kafka.offsets import Offsets, PartitionId


class Window:
    """The events of one partition that were read and are not yet done, in order, while this process has it.

    Once it is closed no more work on it begins, except on `awaited` events, and once it is gone nothing of it counts.
    A partition that goes and comes back gets a new window, so whatever belongs to the old one can do no harm. So does
    one whose offsets start again, because its topic was deleted and created: the old offsets would hold back the new.
    """

    __slots__ = (
        "_done",
        "_open",
        "_unfinished",
        "awaited",
        "closed",
        "gone",
        "last",
        "partition",
        "put_off",
        "working",
    )

    def __init__(self, partition: PartitionId) -> None:
        self.partition = partition
        self.closed = False
        self.gone = False
        self.working = 0
        self.last = Offset(-1)
        self.put_off: set[Offset] = set()
        self.awaited: set[Offset] = set()
        self._unfinished: deque[Offset] = deque()
        self._done: set[Offset] = set()
        self._open = Offset(0)

    def receive(self, offset: Offset) -> None:
        """An event was read."""
        self._unfinished.append(offset)
        self._open = Offset(offset + 1)

    def finish(self, offset: Offset) -> int:
        """An event is done; how many more are now done without a gap."""
        unfinished, done = self._unfinished, self._done
        if not unfinished or offset != unfinished[0]:
            if self.holds(offset):
                done.add(offset)
            return 0
        unfinished.popleft()
        count = 1
        while unfinished and unfinished[0] in done:
            done.remove(unfinished.popleft())
            count += 1
        return count

    def holds(self, offset: Offset) -> bool:
        """Whether an event of this offset was read and is not done."""
        unfinished = self._unfinished
        return bool(unfinished) and unfinished[0] <= offset < self._open and offset not in self._done

    def close(self, in_work: set[Offset]) -> None:
        """Begin nothing more, except events before one that was begun, which would be repeated otherwise."""
        if not self.closed:
            self.closed = True
            before = {offset for offset in self._unfinished if offset < self.last}
            self.awaited = before - self._done - self.put_off - in_work

    def is_behind(self, offset: Offset) -> bool:
        """Whether an event of this offset cannot follow those that were read, so that the partition starts again."""
        return offset < self._open

    @property
    def offset(self) -> Offset:
        """The first offset that is not done, which is where the group may be moved to."""
        return self._unfinished[0] if self._unfinished else self._open

    def __len__(self) -> int:
        """How many events are held: not done, or done behind one that is not."""
        return len(self._unfinished)


class Tracker:
    """The windows of all partitions, with what is in work; any thread may call it.

    `held` counts the events that are read and cannot be committed yet, and `finished` those that became so.
    `opening` is the event that is decoded and filtered now, before work on it begins.
    """

    def __init__(self) -> None:
        self.held = 0
        self.finished = 0
        self.opening: ConsumerRecord | None = None
        self._windows: dict[tuple[str, int], Window] = {}
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._waiting = 0
        self._in_work: dict[int, tuple[ConsumerRecord, float]] = {}
        self._stopped = False

    def receive(self, records: Sequence[ConsumerRecord]) -> list[tuple[ConsumerRecord, Window]]:
        """Events were read; each with its partition's window, which stays its own if the partition goes and returns."""
        with self._lock:
            self.held += len(records)
            return [(record, self._received(record)) for record in records]

    def begin(self, window: Window, record: ConsumerRecord) -> bool:
        """Whether work on an event may begin: not after its partition went, or after `stop`."""
        with self._lock:
            offset = record.offset
            if window.closed:
                if offset not in window.awaited:
                    return False
                window.awaited.remove(offset)
            elif offset > window.last:
                window.last = offset
            window.working += 1
            self._in_work[id(record)] = (record, monotonic())
            return True

    def end(self, window: Window, record: ConsumerRecord, *, done: bool) -> None:
        """Work on an event has ended; if it is not done it holds back its partition until it is acknowledged."""
        with self._lock:
            window.working -= 1
            del self._in_work[id(record)]
            if done:
                self._finish(window, record.offset)
            elif window.holds(record.offset):  # not if the action acknowledged it before it returned
                window.put_off.add(record.offset)
            if self._waiting:
                self._changed.notify_all()

    def finish(self, window: Window, record: ConsumerRecord) -> None:
        """An event is done that nothing had to be done for."""
        with self._lock:
            self._finish(window, record.offset)

    def acknowledge(self, origin: Origin) -> bool:
        """An event is done, as its action says later; False if that is known, or its partition is gone.

        Only an event that work has begun on is meant: another one had its offset before its partition started again.
        """
        with self._lock:
            window = self._windows.get((origin.topic, origin.partition))
            if window is None or not window.holds(origin.offset) or not self._was_begun(window, origin):
                return False
            window.put_off.discard(origin.offset)
            self._finish(window, origin.offset)
            self._changed.notify_all()
            return True

    def offsets(self) -> Offsets:
        """Where the group may be moved to; `finished` begins again."""
        with self._lock:
            self.finished = 0
            return {window.partition: window.offset for window in self._windows.values()}

    def close(self, partitions: Iterable[PartitionId], timeout: float) -> Offsets:
        """Begin nothing new of these partitions, wait for what is in work, and forget them; how far they came."""
        with self._lock:
            windows = [self._windows[partition] for partition in partitions if partition in self._windows]
            self._close(windows)
            self._wait_for(lambda: not any(window.working or window.awaited for window in windows), timeout)
            for window in windows:
                self._forget(window)
            return {window.partition: window.offset for window in windows}

    def stop(self, *, at_once: bool = False) -> None:
        """Begin nothing new at all; `at_once`, not even what stands before something that was begun."""
        with self._lock:
            self._stopped = True
            self._close(self._windows.values())
            if at_once:
                for window in self._windows.values():
                    window.awaited.clear()
            self._changed.notify_all()

    def wait_idle(self, timeout: float) -> bool:
        """Wait until nothing is in work, and nothing awaited; whether that is so."""
        with self._lock:
            return self._wait_for(lambda: not self._in_work and not self._is_awaiting(), timeout)

    def wait_room(self, limit: int, timeout: float) -> int:
        """Wait until fewer events than `limit` are held; how many more may be."""
        with self._lock:
            if self.held >= limit:
                self._wait_for(lambda: self.held < limit or self._stopped, timeout)
            return max(limit - self.held, 0)

    def in_work(self) -> list[tuple[Origin, float]]:
        """The events in work, and for how many seconds each is."""
        with self._lock:
            now = monotonic()
            return [(record.origin, now - since) for record, since in self._in_work.values()]

    def _close(self, windows: Iterable[Window]) -> None:
        in_work: dict[tuple[str, int], set[Offset]] = defaultdict(set)
        for record, _ in self._in_work.values():
            in_work[record.topic, record.partition].add(record.offset)
        for window in windows:
            window.close(in_work[window.partition])

    def _was_begun(self, window: Window, origin: Origin) -> bool:
        return origin.offset in window.put_off or any(record.origin == origin for record, _ in self._in_work.values())

    def _is_awaiting(self) -> bool:
        return any(window.awaited for window in self._windows.values())

    def _received(self, record: ConsumerRecord) -> Window:
        slot = (record.topic, record.partition)
        window = self._windows.get(slot)
        if window is not None and window.is_behind(record.offset):
            self._forget(window)
            window = None
        if window is None:
            window = self._windows[slot] = Window(PartitionId(*slot))
        window.receive(record.offset)
        return window

    def _forget(self, window: Window) -> None:
        """What is still in work of it is finished, and counts for no offset any more."""
        window.gone = True
        window.awaited.clear()
        self.held -= len(window)
        del self._windows[window.partition]

    def _wait_for(self, state: Callable[[], bool], timeout: float) -> bool:
        """Wait for a state; that somebody waits is counted, since telling nobody costs every event."""
        self._waiting += 1
        try:
            return self._changed.wait_for(state, timeout)
        finally:
            self._waiting -= 1

    def _finish(self, window: Window, offset: Offset) -> None:
        if not window.gone:
            count = window.finish(offset)
            self.held -= count
            self.finished += count
