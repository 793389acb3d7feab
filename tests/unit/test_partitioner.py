from __future__ import annotations

import pytest

from penstock.errors import UsageError
from penstock.kafka.partitioner import PartitionChooser


def test_the_function_gets_the_keys_bytes_and_the_number_of_partitions() -> None:
    asked: list[tuple[bytes | None, int]] = []

    def last(key: bytes | None, count: int) -> int:
        asked.append((key, count))
        return count - 1

    choose = PartitionChooser(last, lambda: 6)
    assert (choose(b"ada"), choose(None)) == (5, 5)
    assert asked == [(b"ada", 6), (None, 6)]


def test_the_partitions_are_not_counted_for_every_record() -> None:
    counted: list[int] = []

    def count() -> int:
        counted.append(1)
        return 3

    choose = PartitionChooser(lambda _key, _count: 0, count)
    for _ in range(100):
        choose(None)
    assert len(counted) == 1


@pytest.mark.parametrize("answer", [-1, 3, "0", None, 1.0])
def test_an_answer_outside_the_topic_is_refused(answer: object) -> None:
    choose = PartitionChooser(lambda _key, _count: answer, lambda: 3)
    with pytest.raises(UsageError, match="for a topic with 3 partitions") as refused:
        choose(b"key")
    assert "from 0 to 2" in refused.value.hint
