"""Whatever is sent, the answer is one that the API's description names, and never a 5xx while Kafka is there."""

from __future__ import annotations

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import negative_data_rejection

from tests.collector_process import EVENT
from tests.integration.collector.conftest import Served, StartCollector

MANY = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.fixture(scope="module")
def api(served: Served) -> BaseSchema:
    """The collector's own description of itself."""
    return schemathesis.openapi.from_url(f"{served.process.url}/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("path", ["/events", "/topics/{topic}"])
def test_events_are_taken_and_refused_as_described(api: BaseSchema, path: str, mode: GenerationMode) -> None:
    @given(case=api[path]["POST"].as_strategy(generation_mode=mode))
    @MANY
    def check(case: Case) -> None:
        answer = case.call()
        # Of several events the bad ones are refused by themselves, which the usual check knows nothing of.
        is_told_apart = answer.status_code == HTTPStatus.MULTI_STATUS and answer.json()["rejected"] > 0
        case.validate_response(answer, excluded_checks=[negative_data_rejection] if is_told_apart else [])

    check()


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"])
def test_pages_are_as_described(api: BaseSchema, path: str) -> None:
    api[path]["GET"].Case().call_and_validate()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
almost_events = st.dictionaries(st.sampled_from([*EVENT, "Server_Time", "event_id", "x"]), json_values)
bodies = (
    st.binary(max_size=2000)
    | (json_values | almost_events | st.lists(almost_events)).map(lambda value: json.dumps(value).encode())
    | st.lists(json_values).map(lambda values: b"\n".join(json.dumps(value).encode() for value in values))
    | st.binary(max_size=200).map(gzip.compress)
)


@given(
    body=bodies,
    content_type=st.sampled_from(
        ["application/json", "application/x-ndjson", "text/plain", "application/json; a=b", ""]
    ),
    encoding=st.sampled_from(["", "identity", "gzip", "zstd", "br"]),
    key=st.text(st.characters(codec="latin-1", categories=["L", "N", "P", "S"]), max_size=210),
)
@MANY
def test_any_body_under_any_head_is_answered_with_less_than_500(
    served: Served, body: bytes, content_type: str, encoding: str, key: str
) -> None:
    headers = {"content-encoding": encoding} if encoding else {}
    headers |= {"idempotency-key": key} if key and key.isascii() else {}
    answer = served.process.post(body, content_type=content_type, headers=headers)
    assert answer.status_code < 500, answer.text
    assert answer.json()


def test_many_large_bodies_at_once_cost_no_more_memory_than_the_bound(start: StartCollector) -> None:
    process = start(buffer="8 MiB", dead_letters=None)
    valid = json.dumps([{**EVENT, "Listing_ID": "x" * 20_000}] * 100).encode()
    bodies = [valid, valid[:-1], b"[" * 2_000_000, os.urandom(2_000_000), b'"' + b"x" * 2_000_000 + b'"']
    process.post(EVENT)
    before = process.memory()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(process.post, bodies * 30))
    assert {answer.status_code for answer in answers} <= {200, 400, 422, 503}
    assert all(answer.json()["error"]["code"] == "request.busy" for answer in answers if answer.status_code == 503)
    assert process.memory() - before < 180_000_000  # of the 300 MB that were sent, 16 bodies at a time


def test_after_all_that_it_still_works_and_never_stumbled(served: Served) -> None:
    assert served.process.post(EVENT).status_code == 200
    assert "Traceback" not in served.process.log.read_text()
