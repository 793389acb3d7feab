from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from penstock.config import Settings
from penstock.console.app import make_app
from penstock.local.ports import free_ports


@pytest.fixture(scope="module")
def console() -> Iterator[TestClient]:
    """A console whose PostgreSQL is away."""
    (port,) = free_ports(1)
    away = Settings(database=SecretStr(f"postgresql://somebody:geheim@127.0.0.1:{port}/catalog"))
    with TestClient(make_app(away)) as client:
        yield client


def refusal(console: TestClient, path: str, status: int, **parameters: Any) -> dict[str, str]:
    answer = console.get(path, params=parameters)
    assert answer.status_code == status
    error: dict[str, str] = answer.json()["error"]
    return error


def test_the_console_is_well_though_the_database_is_away(console: TestClient) -> None:
    assert console.get("/healthz").json() == {"status": "ok"}


def test_a_database_that_is_away_is_told_without_its_password(console: TestClient) -> None:
    answer = console.get("/api/catalog/search", params={"q": "page"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["error"]["code"] == "database.unavailable"
    assert "geheim" not in answer.text


@pytest.mark.parametrize(
    ("path", "parameters", "told"),
    [
        ("search", {}, "q: field required"),
        ("search", {"q": "x", "limit": 1001}, "limit: input should be less than or equal to 1000"),
        ("search", {"q": "x", "limit": "many"}, "limit: input should be a valid integer"),
        ("search", {"q": "x" * 501}, "q: string should have at most 500 characters"),
        ("search", {"q": "a\0b"}, "q: string should match pattern"),
        ("search", {"q": "x", "lmit": 5}, "there is no parameter lmit"),
        ("lineage", {"dataset": "x", "depth": 0}, "depth: input should be greater than or equal to 1"),
        ("owners", {"dataset": "x" * 1001}, "dataset: string should have at most 1000 characters"),
        ("datasets/x", {"versions": 101}, "versions: input should be less than or equal to 100"),
        ("loads", {"late": "perhaps"}, "late: input should be a valid boolean"),
        ("loads", {"as_of": "soon"}, "'soon' is not a time"),
    ],
)
def test_what_may_not_be_asked_is_refused_before_the_database_is(
    console: TestClient, path: str, parameters: dict[str, Any], told: str
) -> None:
    error = refusal(console, f"/api/catalog/{path}", 422, **parameters)
    assert error["code"] == "usage"
    assert told in error["message"]


def test_everything_that_is_wrong_is_told_at_once(console: TestClient) -> None:
    message = refusal(console, "/api/catalog/search", 422, limit=0, depth=1)["message"]
    assert message.split("; ") == [
        "q: field required",
        "limit: input should be greater than or equal to 1",
        "there is no parameter depth",
    ]


def test_what_is_not_served_is_refused_in_the_same_form(console: TestClient) -> None:
    assert refusal(console, "/api/catalog/nothing", 404)["code"] == "request.path"
    written = console.post("/api/catalog/search")
    assert (written.status_code, set(written.headers["allow"].split(", "))) == (405, {"GET", "HEAD"})
    assert written.json()["error"]["message"] == "POST /api/catalog/search is not served"
