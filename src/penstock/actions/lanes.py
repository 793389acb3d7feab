"""Thread pool with lanes: lanes run concurrently, the tasks of a lane run in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Generic, TypeVar

Task = TypeVar("Task")


class Lanes(Generic[Task]):
    """Thread pool. The tasks of a lane run one at a time, in submission order.

    `work` must not raise. A task without a lane waits only for a free thread.
    """

    def __init__(self, threads: int, work: Callable[[Task], None]) -> None:
        self._work = work
        self._lock = Lock()
        self._waiting: dict[Hashable, deque[Task]] = {}
        self._ready: SimpleQueue[tuple[Hashable | None, Task] | None] = SimpleQueue()
        self._threads = [Thread(target=self._run, name=f"penstock-lane-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def put(self, lane: Hashable | None, task: Task) -> None:
        """Submit a task, to run after the earlier tasks of its lane."""
        if lane is not None:
            with self._lock:
                before = self._waiting.get(lane)
                if before is not None:
                    before.append(task)
                    return
                self._waiting[lane] = deque()
        self._ready.put((lane, task))

    def close(self) -> None:
        """Stop each thread after the queued tasks, without waiting. Tasks waiting for their lane are dropped."""
        for _ in self._threads:
            self._ready.put(None)

    def _run(self) -> None:
        while (entry := self._ready.get()) is not None:
            lane, task = entry
            self._work(task)
            if lane is not None:
                self._go_on(lane)

    def _go_on(self, lane: Hashable) -> None:
        with self._lock:
            waiting = self._waiting[lane]
            if not waiting:
                del self._waiting[lane]
                return
            task = waiting.popleft()
        self._ready.put((lane, task))
