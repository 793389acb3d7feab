import asyncio
import os
from pathlib import Path

import pytest

from penstock.collector.shared_window import SharedWindow
from penstock.collector.window import EventKey
from penstock.errors import DeliveryFailed
from penstock.kafka.acknowledged import Batch, Delivery, Underway

KEY = EventKey("web", "events", "a")


def window(directory: Path, seconds: float = 60) -> SharedWindow:
    return SharedWindow(directory, seconds, 10)


def a_delivery() -> Delivery:
    return Delivery(100, [], Underway(100, records=1))


def links_in(directory: Path) -> int:
    return len(list(directory.iterdir()))


async def waited_for(delivery: Delivery | None) -> Delivery:
    assert delivery is not None
    batch = Batch(asyncio.get_running_loop())
    delivery.join(batch)
    await asyncio.wait_for(batch.settled(), 5)
    assert delivery.settled
    return delivery


async def test_one_worker_is_the_first_and_the_others_wait_for_its_result(tmp_path: Path) -> None:
    first, other, delivery = window(tmp_path), window(tmp_path), a_delivery()
    assert first.find(KEY) is None
    elsewhere = other.find(KEY)
    first.remember(KEY, delivery)
    assert elsewhere is not None
    assert not elsewhere.settled
    delivery.settle()
    assert (await waited_for(elsewhere)).error is None
    assert (await waited_for(other.find(KEY))).error is None


async def test_what_failed_elsewhere_failed_and_may_be_sent_again_by_anybody(tmp_path: Path) -> None:
    first, other, delivery = window(tmp_path), window(tmp_path), a_delivery()
    assert first.find(KEY) is None
    first.remember(KEY, delivery)
    elsewhere = other.find(KEY)
    delivery.fail(DeliveryFailed("no"))
    assert isinstance((await waited_for(elsewhere)).error, DeliveryFailed)
    assert other.find(KEY) is None


async def test_what_was_not_sent_after_all_may_be_sent_by_anybody(tmp_path: Path) -> None:
    first, other = window(tmp_path), window(tmp_path)
    assert first.find(KEY) is None
    first.let_go(KEY)
    assert other.find(KEY) is None


async def test_a_worker_that_died_blocks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = 2**22 + 1
    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", lambda: nobody)
        assert window(tmp_path).find(KEY) is None
    other = window(tmp_path)
    assert (await waited_for(other.find(KEY))).error is not None
    assert other.find(KEY) is None


async def test_an_id_past_its_time_is_free_again(tmp_path: Path) -> None:
    first, delivery = window(tmp_path, 0.05), a_delivery()
    assert first.find(KEY) is None
    first.remember(KEY, delivery)
    delivery.settle()
    await asyncio.sleep(0.1)
    assert window(tmp_path, 0.05).find(KEY) is None


async def test_no_more_links_are_kept_than_ids(tmp_path: Path) -> None:
    own = window(tmp_path)
    for number in range(30):
        key = EventKey("web", "events", str(number))
        assert own.find(key) is None
        delivery = a_delivery()
        own.remember(key, delivery)
        delivery.settle()
    assert links_in(tmp_path) == 10
