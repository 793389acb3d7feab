import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.kafka.topics import moved_share

COUNTS = st.integers(min_value=1, max_value=30)


@given(COUNTS, COUNTS)
def test_the_share_of_moved_keys_is_what_counting_hashes_gives(before: int, after: int) -> None:
    hashes = range(before * after)
    moved = sum(each % before != each % after for each in hashes) / len(hashes)
    assert moved_share(before, after) == pytest.approx(moved)


def test_doubling_moves_half_of_the_keys() -> None:
    assert moved_share(3, 6) == 0.5


def test_no_partition_is_no_topic() -> None:
    with pytest.raises(UsageError):
        moved_share(0, 3)
