import pytest

from penstock.collector.deadlines import Deadlines


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_takes_too_long_is_told_once(clock: Clock) -> None:
    told: list[str] = []
    deadlines = Deadlines(10, clock)
    deadlines.start(lambda: told.append("first"))
    clock.now += 6
    deadlines.start(lambda: told.append("second"))
    deadlines.tick()
    assert told == []
    clock.now += 5
    deadlines.tick()
    deadlines.tick()
    assert told == ["first"]


def test_stopping_says_whether_it_was_in_time(clock: Clock) -> None:
    told: list[str] = []
    deadlines = Deadlines(10, clock)
    quick, slow = deadlines.start(lambda: told.append("quick")), deadlines.start(lambda: told.append("slow"))
    assert deadlines.stop(quick)
    clock.now += 11
    deadlines.tick()
    assert not deadlines.stop(slow)
    assert told == ["slow"]


def test_who_is_told_may_start_and_stop_others(clock: Clock) -> None:
    deadlines = Deadlines(10, clock)
    other: list[int] = []
    deadlines.start(lambda: other.append(deadlines.start(lambda: None)))
    clock.now += 11
    deadlines.tick()
    assert deadlines.stop(other[0])
