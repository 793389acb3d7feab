from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.collector_process import EVENT, headers_of
from tests.integration.collector.conftest import Served


@pytest.fixture(scope="module")
def section() -> dict[str, Any]:
    return {"keys": [{"name": "web", "secret": "web-key"}, {"name": "ios", "secret": "ios-key"}]}


def post(served: Served, body: object, client: str = "web", key: str | None = None) -> Any:
    headers = {"x-api-key": f"{client}-key"} | ({"idempotency-key": key} if key else {})
    return served.process.post(body, headers=headers)


def times_in_topic(served: Served, event_id: str) -> int:
    return [headers_of(message)["penstock.event_id"] for message in served.events(1)].count(event_id)


def test_a_repeated_idempotency_key_is_answered_with_the_first_result_and_sent_once(served: Served) -> None:
    first = post(served, EVENT, key="order-1")
    again = post(served, EVENT, key="order-1")
    assert first.json() == {"status": "accepted", "id": "order-1"}
    assert again.json() == {"status": "accepted", "id": "order-1", "duplicate": True}
    assert again.status_code == 200
    assert times_in_topic(served, "order-1") == 1


def test_an_event_may_bring_its_own_id(served: Served) -> None:
    for _ in range(3):
        assert post(served, {**EVENT, "event_id": "own-1"}).json()["id"] == "own-1"
    assert times_in_topic(served, "own-1") == 1


def test_a_batch_that_is_sent_again_is_not_taken_again(served: Served) -> None:
    for _ in range(2):
        answer = post(served, [EVENT, EVENT, {**EVENT, "event_id": "own-2"}], key="batch-1")
        assert [result["id"] for result in answer.json()["events"]] == ["batch-1/0", "batch-1/1", "own-2"]
        assert answer.status_code == 200
    assert [times_in_topic(served, name) for name in ("batch-1/0", "batch-1/1", "own-2")] == [1, 1, 1]


def test_an_id_that_stands_twice_in_one_batch_is_sent_once(served: Served) -> None:
    twice = {**EVENT, "event_id": "twice-1"}
    results = post(served, [twice, EVENT, twice]).json()["events"]
    assert [result["status"] for result in results] == ["accepted"] * 3
    assert [result.get("duplicate", False) for result in results] == [False, False, True]
    assert times_in_topic(served, "twice-1") == 1


def test_ids_repeated_while_the_first_is_underway_wait_for_it(served: Served) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: post(served, EVENT, key="rush-1").json(), range(100)))
    assert {answer["status"] for answer in answers} == {"accepted"}
    assert sum("duplicate" not in answer for answer in answers) == 1
    assert times_in_topic(served, "rush-1") == 1


def test_a_rejected_event_may_be_repaired_and_sent_with_the_same_id(served: Served) -> None:
    assert post(served, {**EVENT, "User_ID": 1}, key="repaired-1").status_code == 422
    assert post(served, EVENT, key="repaired-1").json() == {"status": "accepted", "id": "repaired-1"}
    assert times_in_topic(served, "repaired-1") == 1


def test_clients_do_not_share_their_ids(served: Served) -> None:
    assert "duplicate" not in post(served, EVENT, "web", "shared-1").json()
    assert "duplicate" not in post(served, EVENT, "ios", "shared-1").json()
    assert times_in_topic(served, "shared-1") == 2
