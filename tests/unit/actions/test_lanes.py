from __future__ import annotations

import threading
import time
from collections import defaultdict

from penstock.actions.lanes import Lanes


def wait_until(condition: object, seconds: float = 5.0) -> None:
    give_up = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < give_up
        time.sleep(0.001)


def test_tasks_of_one_lane_are_done_in_order_and_one_at_a_time() -> None:
    seen: dict[int, list[int]] = defaultdict(list)
    busy: set[int] = set()
    together: list[int] = []

    def work(task: tuple[int, int]) -> None:
        lane, number = task
        assert lane not in busy
        busy.add(lane)
        together.append(len(busy))
        time.sleep(0.0005)
        seen[lane].append(number)
        busy.discard(lane)

    lanes: Lanes[tuple[int, int]] = Lanes(8, work)
    for number in range(50):
        for lane in range(5):
            lanes.put(lane, (lane, number))
    wait_until(lambda: sum(map(len, seen.values())) == 250)
    lanes.close()
    assert all(numbers == list(range(50)) for numbers in seen.values())
    assert max(together) > 1


def test_a_lane_that_is_held_up_holds_up_no_other() -> None:
    gate, done = threading.Event(), []

    def work(task: str) -> None:
        if task == "slow":
            gate.wait(5)
        done.append(task)

    lanes: Lanes[str] = Lanes(2, work)
    lanes.put("a", "slow")
    lanes.put("a", "behind the slow one")
    lanes.put("b", "other")
    lanes.put(None, "on its own")
    wait_until(lambda: len(done) == 2)
    assert sorted(done) == ["on its own", "other"]
    gate.set()
    wait_until(lambda: len(done) == 4)
    assert done[2:] == ["slow", "behind the slow one"]
    lanes.close()


def test_a_lane_is_forgotten_when_nothing_waits_in_it() -> None:
    done: list[int] = []
    lanes: Lanes[int] = Lanes(2, done.append)
    for number in range(100):
        lanes.put(number, number)
    wait_until(lambda: len(done) == 100 and not lanes._waiting)
    lanes.close()
