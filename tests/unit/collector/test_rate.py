import pytest

from penstock.collector.rate import TokenBucket


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_seconds_worth_passes_at_once_and_then_the_next_has_to_wait(clock: Clock) -> None:
    bucket = TokenBucket(10, clock)
    for _ in range(10):
        assert bucket.wait_seconds() == 0
        bucket.take(1)
    assert bucket.wait_seconds() == pytest.approx(0.1)


def test_waiting_as_long_as_told_is_enough(clock: Clock) -> None:
    bucket = TokenBucket(10, clock)
    bucket.take(35)
    clock.now += bucket.wait_seconds()
    assert bucket.wait_seconds() == 0


def test_a_batch_larger_than_the_bucket_passes_once_and_is_paid_for_afterwards(clock: Clock) -> None:
    bucket = TokenBucket(10, clock)
    assert bucket.wait_seconds() == 0
    bucket.take(1000)
    clock.now += 98
    assert bucket.wait_seconds() > 0
    clock.now += 2
    assert bucket.wait_seconds() == 0


def test_a_pause_saves_up_no_more_than_one_second(clock: Clock) -> None:
    bucket = TokenBucket(10, clock)
    clock.now += 3600
    assert bucket.wait_seconds() == 0
    bucket.take(11)
    assert bucket.wait_seconds() > 0
