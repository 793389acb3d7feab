import pytest

from penstock.collector.window import EventKey, OwnWindow
from penstock.errors import DeliveryFailed
from penstock.kafka.acknowledged import Batch, Delivery, Underway


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def key(event_id: str, client: str = "web", topic: str = "events") -> EventKey:
    return EventKey(client, topic, event_id)


def a_delivery() -> Delivery:
    batch = Batch(None)  # type: ignore[arg-type]
    batch.missing = 1
    return Delivery(100, [batch], Underway(100, records=1))


def done() -> Delivery:
    delivery = a_delivery()
    delivery.settle()
    return delivery


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_an_id_is_known_while_underway_and_when_done(clock: Clock) -> None:
    window, delivery = OwnWindow(60, 10, now=clock), a_delivery()
    window.remember(key("a"), delivery)
    assert window.find(key("a")) is delivery
    delivery.settle()
    assert window.find(key("a")) is delivery


def test_another_client_or_topic_may_use_the_same_id(clock: Clock) -> None:
    window = OwnWindow(60, 10, now=clock)
    window.remember(key("a"), a_delivery())
    assert window.find(key("a", client="ios")) is None
    assert window.find(key("a", topic="clicks")) is None


def test_what_failed_is_not_known_so_that_a_retry_is_sent(clock: Clock) -> None:
    window, delivery = OwnWindow(60, 10, now=clock), a_delivery()
    window.remember(key("a"), delivery)
    delivery.fail(DeliveryFailed("no"))
    assert window.find(key("a")) is None


def test_an_id_is_forgotten_when_its_time_is_over(clock: Clock) -> None:
    window = OwnWindow(60, 10, now=clock)
    window.remember(key("a"), done())
    clock.now += 61
    assert window.find(key("a")) is None


def test_an_id_is_not_forgotten_while_its_event_is_underway(clock: Clock) -> None:
    window, delivery = OwnWindow(60, 10, now=clock), a_delivery()
    window.remember(key("a"), delivery)
    clock.now += 61
    window.remember(key("b"), a_delivery())
    assert window.find(key("a")) is delivery


def test_no_more_ids_are_kept_than_agreed_and_the_oldest_go_first(clock: Clock) -> None:
    window = OwnWindow(60, 3, now=clock)
    for name in "abcd":
        window.remember(key(name), done())
    assert window.find(key("a")) is None
    assert window.find(key("b")) is not None
    assert len(window._entries) == 3


def test_ids_past_their_time_do_not_stay_in_memory(clock: Clock) -> None:
    window = OwnWindow(60, 1000, now=clock)
    for number in range(100):
        window.remember(key(str(number)), done())
    clock.now += 61
    window.remember(key("new"), a_delivery())
    assert len(window._entries) == 1


def test_ids_that_leave_are_told(clock: Clock) -> None:
    gone: list[EventKey] = []
    window = OwnWindow(60, 1, now=clock, on_forget=gone.append)
    window.remember(key("a"), done())
    window.remember(key("b"), done())
    assert gone == [key("a")]


def test_an_id_that_begins_anew_does_not_leave_with_its_past(clock: Clock) -> None:
    gone: list[EventKey] = []
    window = OwnWindow(60, 10, now=clock, on_forget=gone.append)
    window.remember(key("a"), done())
    clock.now += 61
    assert window.find(key("a")) is None
    window.remember(key("b"), a_delivery())
    assert gone == []


def test_an_id_underway_is_not_forgotten_however_many_follow(clock: Clock) -> None:
    forgotten: list[EventKey] = []
    window = OwnWindow(60, 3, now=clock, on_forget=forgotten.append)
    underway = [a_delivery() for _ in range(5)]
    for number, delivery in enumerate(underway):
        window.remember(key(str(number)), delivery)
    for number in range(20):
        window.remember(key(f"done {number}"), done())
    assert [window.find(key(str(number))) for number in range(5)] == underway
    assert len(forgotten) > 10
    assert not {key(str(number)) for number in range(5)} & set(forgotten)
    for delivery in underway:
        delivery.settle()
    for number in range(20):
        window.remember(key(f"later {number}"), done())
    assert [window.find(key(str(number))) for number in range(5)] == [None] * 5
