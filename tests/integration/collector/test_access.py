import subprocess
import sys
from hashlib import sha256
from typing import Any

import pytest

from tests.collector_process import EVENT, product_topic
from tests.integration.collector.conftest import Served

SECRET = "hunter2-of-the-web"


@pytest.fixture(scope="module")
def section() -> dict[str, Any]:
    return {
        "topics": {"taps-of-access": product_topic()},
        "keys": [
            {"name": "web", "secret": SECRET},
            {"name": "ios", "sha256": sha256(b"ios-key").hexdigest(), "topics": ["taps-of-access"]},
            {"name": "slow", "secret": "slow-key", "rate": 10},
        ],
        "cors": {"origins": ["https://shop.example"]},
    }


def status(served: Served, path: str = "/events", **headers: str) -> int:
    return served.process.post(EVENT, path, headers=headers).status_code


def test_without_a_key_or_with_a_wrong_one_nothing_is_taken(served: Served) -> None:
    assert status(served) == 401
    assert status(served, authorization="Bearer wrong") == 401
    assert served.process.post(EVENT).headers["www-authenticate"] == "Bearer"


def test_a_key_opens_the_topics_that_it_is_for(served: Served) -> None:
    assert status(served, authorization=f"Bearer {SECRET}") == 200
    assert status(served, "/topics/taps-of-access", **{"x-api-key": "ios-key"}) == 200
    assert status(served, "/events", **{"x-api-key": "ios-key"}) == 404


def test_a_key_that_sends_too_fast_is_told_when_to_come_back(served: Served) -> None:
    headers = {"x-api-key": "slow-key"}
    assert served.process.post([EVENT] * 50, headers=headers).status_code == 200
    answer = served.process.post(EVENT, headers=headers)
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 5
    assert status(served, **{"x-api-key": SECRET}) == 200


def test_pages_need_no_key(served: Served) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"):
        assert served.process.http.get(path).status_code == 200


def test_a_key_is_neither_logged_nor_shown(served: Served) -> None:
    status(served, authorization=f"Bearer {SECRET}")
    file = served.process.log.parent / "collector.yaml"
    command = [sys.executable, "-m", "penstock", "--settings", str(file), "config", "--json"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "collector.keys.0.name" in shown
    assert SECRET not in shown + served.process.log.read_text() + served.process.http.get("/metrics").text


def test_a_browser_on_an_allowed_page_may_send(served: Served) -> None:
    origin = {"origin": "https://shop.example"}
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "content-type,x-api-key"}
    preflight = served.process.http.options("/events", headers=origin | asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "https://shop.example"
    answer = served.process.post(EVENT, headers=origin | {"x-api-key": SECRET})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"


def test_a_browser_on_another_page_may_not(served: Served) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    preflight = served.process.http.options("/events", headers=asked)
    assert preflight.status_code == 400
    assert "access-control-allow-origin" not in preflight.headers
