"""Tracker of finished events. Offsets may be committed up to the first unfinished event, never past it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from threading import Condition, Lock
from time import monotonic

from penstock.events.record import ConsumerRecord, Offset, Origin
from penstock.kafka.offsets import Offsets, PartitionId


class Window:
    """Unfinished events of one partition, in order, while this process owns the partition.

    A closed window starts no more events, except `awaited` events. After `gone` is set, nothing in the window counts. A
    lost partition gets a new window when assigned again, so late results of the old window are harmless. A partition
    whose offsets restart, because the topic was deleted and recreated, also gets a new window: the old offsets would
    hold back the new offsets.
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
        """Add an event that was read."""
        self._unfinished.append(offset)
        self._open = Offset(offset + 1)

    def finish(self, offset: Offset) -> int:
        """Mark an event as done. Return by how many events the gapless range of finished events has grown."""
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
        """Return whether the event was read and is not done."""
        unfinished = self._unfinished
        return bool(unfinished) and unfinished[0] <= offset < self._open and offset not in self._done

    def close(self, in_work: set[Offset]) -> None:
        """Start no more events, except events before a started event: the started event would be repeated otherwise."""
        if not self.closed:
            self.closed = True
            before = {offset for offset in self._unfinished if offset < self.last}
            self.awaited = before - self._done - self.put_off - in_work

    def is_behind(self, offset: Offset) -> bool:
        """Return whether the offset was already passed, so that the partition must have restarted."""
        return offset < self._open

    @property
    def offset(self) -> Offset:
        """First unfinished offset. The group may be moved to this offset."""
        return self._unfinished[0] if self._unfinished else self._open

    def __len__(self) -> int:
        """Return the number of held events: unfinished, or finished after an unfinished event."""
        return len(self._unfinished)


class Tracker:
    """Windows of all partitions, and the events in work. Callable from any thread.

    `held` counts the events that were read and cannot be committed yet. `finished` counts the events that became
    committable since the last call of `offsets`. `opening` is the event being decoded and filtered, before its work
    begins.
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
        """Add events that were read. Return each with its window, even if the partition leaves and returns later."""
        with self._lock:
            self.held += len(records)
            return [(record, self._received(record)) for record in records]

    def begin(self, window: Window, record: ConsumerRecord) -> bool:
        """Start work on an event. Return False if the partition was lost or the pipeline is stopping."""
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
        """End work on an event. An unfinished event holds back its partition until acknowledged."""
        with self._lock:
            window.working -= 1
            del self._in_work[id(record)]
            if done:
                self._finish(window, record.offset)
            elif window.holds(record.offset):  # unless the action acknowledged the event before returning
                window.put_off.add(record.offset)
            if self._waiting:
                self._changed.notify_all()

    def finish(self, window: Window, record: ConsumerRecord) -> None:
        """Mark an event as done without any work."""
        with self._lock:
            self._finish(window, record.offset)

    def acknowledge(self, origin: Origin) -> bool:
        """Mark a deferred event as done. Return False if the event is already done or its partition is lost.

        Only a started event is accepted. If the event at this offset has not started, the acknowledgement refers to an
        event from before the partition restarted.
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
        """Return the committable offsets, and reset `finished`."""
        with self._lock:
            self.finished = 0
            return {window.partition: window.offset for window in self._windows.values()}

    def close(self, partitions: Iterable[PartitionId], timeout: float) -> Offsets:
        """Start no new events of these partitions, await events in work, drop the windows. Return the offsets."""
        with self._lock:
            windows = [self._windows[partition] for partition in partitions if partition in self._windows]
            self._close(windows)
            self._wait_for(lambda: not any(window.working or window.awaited for window in windows), timeout)
            for window in windows:
                self._forget(window)
            return {window.partition: window.offset for window in windows}

    def stop(self, *, at_once: bool = False) -> None:
        """Start no new events. With `at_once`, events before a started event are not started either."""
        with self._lock:
            self._stopped = True
            self._close(self._windows.values())
            if at_once:
                for window in self._windows.values():
                    window.awaited.clear()
            self._changed.notify_all()

    def wait_idle(self, timeout: float) -> bool:
        """Wait until no event is in work or awaited. Return False after the time limit."""
        with self._lock:
            return self._wait_for(lambda: not self._in_work and not self._is_awaiting(), timeout)

    def wait_room(self, limit: int, timeout: float) -> int:
        """Wait until fewer than `limit` events are held. Return how many more may be read."""
        with self._lock:
            if self.held >= limit:
                self._wait_for(lambda: self.held < limit or self._stopped, timeout)
            return max(limit - self.held, 0)

    def in_work(self) -> list[tuple[Origin, float]]:
        """Return the events in work, each with its duration in seconds."""
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
        """Drop a window. Its events in work still finish, but no longer affect any offset."""
        window.gone = True
        window.awaited.clear()
        self.held -= len(window)
        del self._windows[window.partition]

    def _wait_for(self, state: Callable[[], bool], timeout: float) -> bool:
        """Wait for a condition. Waiters are counted: notifying without waiters would slow down every event."""
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
