import time
import uuid

import pytest

from penstock.collector.ids import key_from, new_ids
from penstock.collector.refusals import BadId


def test_new_ids_are_uuids_of_version_7_with_the_time_in_front() -> None:
    before = time.time_ns() // 1_000_000
    (made,) = new_ids(1)
    assert uuid.UUID(made).version == 7
    assert uuid.UUID(made).variant == uuid.RFC_4122
    assert before <= uuid.UUID(made).int >> 80 <= time.time_ns() // 1_000_000


def test_the_ids_of_a_batch_differ_and_ascend() -> None:
    made = new_ids(10_000)
    assert len(set(made)) == 10_000
    assert made == sorted(made)


def test_ids_made_one_by_one_differ() -> None:
    assert len({made for _ in range(10_000) for made in new_ids(1)}) == 10_000


@pytest.mark.parametrize("header", [b"", b"x" * 201, b"a\x00b", b"a b", "é".encode(), b"\xff"])
def test_a_key_that_cannot_be_an_id_is_refused(header: bytes) -> None:
    with pytest.raises(BadId):
        key_from(header)


def test_no_key_is_no_id() -> None:
    assert key_from(None) is None
    assert key_from(b"order-1") == "order-1"
