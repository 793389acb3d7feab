import gzip
import json
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.collector_process import EVENT, headers_of, read_topic
from tests.integration.collector.conftest import Served

LINES = "application/x-ndjson"
SALE = {"type": "record", "name": "Sale", "fields": [{"name": "price", "type": "double"}]}


@pytest.fixture(scope="module")
def section(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    schema = tmp_path_factory.mktemp("schemas") / "sale.avsc"
    schema.write_text(json.dumps(SALE))
    return {"topics": {"sales": {"schema": str(schema)}}, "max_body": 2_000_000, "max_events": 200, "read_within": 1}


def event(user: str, **fields: object) -> dict[str, object]:
    return {**EVENT, "User_ID": user, **fields}


def of_user(served: Served, user: str) -> list[Any]:
    return [message for message in served.events(1) if message.key() == user.encode()]


def test_an_accepted_event_is_in_the_topic_with_its_id_its_key_and_the_servers_time(served: Served) -> None:
    before = datetime.now(UTC).isoformat()
    answer = served.process.post(event("first"))
    assert answer.status_code == 200
    assert answer.json().keys() == {"status", "id"}
    (message,) = of_user(served, "first")
    value = json.loads(message.value())
    assert value == {**event("first"), "Listing_ID": None, "Device_Type": None, "Server_Time": value["Server_Time"]}
    assert before[:19] <= value["Server_Time"] <= datetime.now(UTC).isoformat()
    assert headers_of(message) == {
        "penstock.event_id": answer.json()["id"],
        "penstock.received_at": value["Server_Time"],
    }


def test_every_event_of_a_batch_has_its_status_in_order(served: Served) -> None:
    answer = served.process.post([event("b"), event("b", User_ID=42), event("b"), {}])
    assert answer.status_code == 207
    body = answer.json()
    assert [result["status"] for result in body["events"]] == ["accepted", "rejected", "accepted", "rejected"]
    assert (body["accepted"], body["rejected"]) == (2, 2)
    assert body["events"][1]["error"] == {"code": "record.invalid", "message": "User_ID: 42 is not a string"}
    assert [headers_of(message)["penstock.event_id"] for message in of_user(served, "b")] == [
        body["events"][0]["id"],
        body["events"][2]["id"],
    ]


def test_a_batch_without_a_valid_event_is_refused(served: Served) -> None:
    answer = served.process.post([1, {}])
    assert answer.status_code == 422
    assert answer.json()["rejected"] == 2


def test_events_may_come_one_a_line(served: Served) -> None:
    lines = b"\n".join([json.dumps(event("lines")).encode(), b"", b"{broken", json.dumps(event("lines")).encode()])
    answer = served.process.post(lines, content_type=LINES)
    assert answer.status_code == 207
    assert [result["status"] for result in answer.json()["events"]] == ["accepted", "rejected", "accepted"]
    assert len(of_user(served, "lines")) == 2


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_bodies_may_be_compressed(served: Served, encoding: str) -> None:
    text = json.dumps([event(encoding)] * 3).encode()
    body = gzip.compress(text) if encoding == "gzip" else zstandard.compress(text)
    assert served.process.post(body, headers={"content-encoding": encoding}).status_code == 200
    assert len(of_user(served, encoding)) == 3


def test_a_further_topic_takes_events_of_its_own_schema(served: Served) -> None:
    assert served.process.post({"price": 9.5}, "/topics/sales").status_code == 200
    assert served.process.post(EVENT, "/topics/sales").status_code == 422
    assert json.loads(read_topic(served.settings, "sales", 1)[-1].value() or b"") == {"price": 9.5}


def test_the_default_topic_is_a_topic_like_any_other(served: Served) -> None:
    assert served.process.post(event("by name"), f"/topics/{served.topic}").status_code == 200
    assert len(of_user(served, "by name")) == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{nope", 400, "request.not_json"),
        (b"", 400, "request.empty"),
        (b"[]", 400, "request.empty"),
        (b'{"Event_Type": 1}', 422, "record.invalid"),
        (b"5", 422, "record.invalid"),
        (b"[" + b",".join([b"{}"] * 201) + b"]", 413, "request.too_large"),
        (b" " * 2_000_001, 413, "request.too_large"),
    ],
)
def test_what_is_wrong_with_a_body_has_its_status(served: Served, body: bytes, status: int, code: str) -> None:
    answer = served.process.post(body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"]["code"] == code


@pytest.mark.parametrize(
    ("content_type", "headers", "status"),
    [
        ("text/plain", {}, 415),
        ("application/json; charset=utf-16", {}, 415),
        ("application/json", {"content-encoding": "br"}, 415),
        ("application/json", {"content-encoding": "gzip"}, 400),
        ("application/json", {"idempotency-key": "x" * 201}, 400),
    ],
)
def test_what_is_wrong_with_a_head_has_its_status(
    served: Served, content_type: str, headers: dict[str, str], status: int
) -> None:
    assert served.process.post(EVENT, content_type=content_type, headers=headers).status_code == status


@pytest.mark.parametrize("path", ["/topics/nope", "/topics/", "/topics/__consumer_offsets", "/event", "/events/x"])
def test_topics_that_are_not_in_the_settings_and_other_paths_are_not_found(served: Served, path: str) -> None:
    answer = served.process.post(EVENT, path)
    assert answer.status_code == 404
    assert answer.json()["error"]["hint"]


@pytest.mark.parametrize("path", ["/events", "/topics/sales"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
def test_events_are_sent_with_post_only(served: Served, path: str, method: str) -> None:
    answer = served.process.http.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_and_costs_no_memory(served: Served, encoding: str) -> None:
    zeros = bytes(500_000_000)
    bomb = gzip.compress(zeros, 6) if encoding == "gzip" else zstandard.compress(zeros)
    del zeros
    served.process.post(EVENT)
    before = served.process.memory()
    for _ in range(5):
        answer = served.process.post(bomb, headers={"content-encoding": encoding})
        assert answer.status_code == 413
    assert served.process.memory() - before < 50_000_000


def test_a_body_without_a_length_is_cut_off_at_the_limit(served: Served) -> None:
    chunks = (b" " * 100_000 for _ in range(100))
    headers = {"content-type": "application/json"}
    assert served.process.http.post("/events", content=chunks, headers=headers).status_code == 413


def test_an_event_larger_than_kafka_takes_is_rejected_as_too_large(served: Served) -> None:
    answer = served.process.post(event("large", Listing_ID="x" * 1_500_000))
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "record.too_large"


_HEAD = b"POST /events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"


def test_a_body_that_does_not_arrive_is_not_waited_for_forever(served: Served) -> None:
    host, port = served.process.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 30) as slow:
        slow.sendall(_HEAD + b"content-length: 10\r\n\r\n{")
        began = time.monotonic()
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")
        assert time.monotonic() - began < 10


def test_a_client_that_leaves_in_the_middle_does_no_harm(served: Served) -> None:
    host, port = served.process.url.removeprefix("http://").split(":")
    for _ in range(20):
        with socket.create_connection((host, int(port)), 30) as fickle:
            fickle.sendall(_HEAD + b"content-length: 1000\r\n\r\n{")
    assert served.process.post(EVENT).status_code == 200
    assert "Traceback" not in Path(served.process.log).read_text()
