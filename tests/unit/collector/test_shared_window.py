import asyncio
import os
from pathlib import Path

import pytest

from penstock.collector.refusals import Busy
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


async def test_what_failed_elsewhere_is_in_doubt_here_and_may_be_sent_again_by_anybody(tmp_path: Path) -> None:
    first, other, delivery = window(tmp_path), window(tmp_path), a_delivery()
    assert first.find(KEY) is None
    first.remember(KEY, delivery)
    elsewhere = other.find(KEY)
    delivery.in_doubt = True
    delivery.fail(DeliveryFailed("no"))
    heard = await waited_for(elsewhere)
    assert isinstance(heard.error, DeliveryFailed)
    assert heard.in_doubt
    assert other.find(KEY) is None


async def test_what_was_not_sent_after_all_may_be_sent_by_anybody(tmp_path: Path) -> None:
    first, other = window(tmp_path), window(tmp_path)
    assert first.find(KEY) is None
    first.let_go(KEY)
    assert other.find(KEY) is None


async def test_what_a_worker_had_when_it_died_is_in_doubt_and_then_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = 2**22 + 1
    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", lambda: nobody)
        assert window(tmp_path).find(KEY) is None
    other = window(tmp_path)
    heard = await waited_for(other.find(KEY))
    assert heard.error is not None
    assert heard.in_doubt
    assert other.find(KEY) is None


async def test_an_id_past_its_time_is_free_again(tmp_path: Path) -> None:
    first, delivery = window(tmp_path, 0.05), a_delivery()
    assert first.find(KEY) is None
    first.remember(KEY, delivery)
    delivery.settle()
    await asyncio.sleep(0.1)
    assert window(tmp_path, 0.05).find(KEY) is None


async def test_an_id_is_not_free_while_its_event_is_underway_however_long_that_takes(tmp_path: Path) -> None:
    first, other, delivery = window(tmp_path, 0.05), window(tmp_path, 0.05), a_delivery()
    assert first.find(KEY) is None
    first.remember(KEY, delivery)
    await asyncio.sleep(0.1)
    assert first.find(KEY) is delivery
    assert other.find(KEY) is not None


async def test_a_worker_that_forgets_an_id_leaves_it_to_the_one_that_has_it_now(tmp_path: Path) -> None:
    first, other, delivery = window(tmp_path, 0.05), window(tmp_path, 0.05), a_delivery()
    assert first.find(KEY) is None
    first.remember(KEY, delivery)
    delivery.settle()
    await asyncio.sleep(0.1)
    assert other.find(KEY) is None
    first.remember(KEY._replace(event_id="b"), a_delivery())
    assert window(tmp_path, 0.05).find(KEY) is not None


async def test_a_worker_that_hears_late_does_not_speak_for_the_one_that_has_the_id_now(tmp_path: Path) -> None:
    first, other, delivery = window(tmp_path), window(tmp_path), a_delivery()
    assert first.find(KEY) is None
    first.remember(KEY, delivery)
    first.let_go(KEY)
    assert other.find(KEY) is None
    delivery.settle()
    elsewhere = window(tmp_path).find(KEY)
    assert elsewhere is not None
    assert not elsewhere.settled


async def test_all_who_repeat_an_id_wait_for_one_delivery_and_one_task_looks(tmp_path: Path) -> None:
    first, other = window(tmp_path), window(tmp_path)
    keys = [KEY._replace(event_id=str(number)) for number in range(5)]
    assert not any(first.find(key) for key in keys)
    tasks = len(asyncio.all_tasks())
    waiting = Batch(asyncio.get_running_loop())
    for key in keys * 10:
        found = other.find(key)
        assert found is not None
        assert found is other.find(key)
        found.join(waiting)
    await asyncio.sleep(0.05)
    assert len(asyncio.all_tasks()) == tasks + 1


async def test_nobody_looks_any_more_when_nobody_waits(tmp_path: Path) -> None:
    first, other, waiting = window(tmp_path), window(tmp_path), Batch(asyncio.get_running_loop())
    assert first.find(KEY) is None
    tasks = len(asyncio.all_tasks())
    elsewhere = other.find(KEY)
    assert elsewhere is not None
    elsewhere.join(waiting)
    await asyncio.sleep(0.05)
    elsewhere.leave(waiting)
    await asyncio.sleep(0.05)
    assert len(asyncio.all_tasks()) == tasks
    assert not elsewhere.waiting
    assert waiting.missing == 0


async def test_an_id_that_cannot_be_noted_is_refused_for_now(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    own, underway = window(shared), a_delivery()
    assert own.find(KEY) is None
    shared.joinpath(next(shared.iterdir()).name).unlink()
    shared.rmdir()
    with pytest.raises(Busy) as caught:
        own.find(KEY._replace(event_id="b"))
    assert caught.value.headers["retry-after"]
    own.remember(KEY, underway)
    underway.settle()
    assert own.find(KEY) is underway


async def test_no_more_links_are_kept_than_ids(tmp_path: Path) -> None:
    own = window(tmp_path)
    for number in range(30):
        key = EventKey("web", "events", str(number))
        assert own.find(key) is None
        delivery = a_delivery()
        own.remember(key, delivery)
        delivery.settle()
    assert links_in(tmp_path) == 10
