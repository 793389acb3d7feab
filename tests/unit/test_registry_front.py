import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from penstock.local.registry_front import dialect, upstream
from penstock.local.registry_front.apicurio import Apicurio
from penstock.local.registry_front.app import create_app
from penstock.local.registry_front.fingerprints import ContentId, Entry, Fingerprint, FingerprintIndex
from penstock.local.registry_front.reasons import Reasons
from penstock.local.registry_front.schemas_by_id import SchemasById
from penstock.schemas import Schema

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
async def away() -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(NOBODY)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://front") as client,
    ):
        yield client


def test_a_path_is_split_before_it_is_decoded_so_that_a_subject_may_contain_a_slash() -> None:
    assert dialect.path_segments(b"//subjects/a%2Fb/versions/?x=1") == ["subjects", "a/b", "versions"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", dialect.PREFERRED),
        ("*/*", dialect.PREFERRED),
        ("text/html", dialect.PREFERRED),
        ("application/json", "application/json"),
        (f"application/json;q=0.5, {dialect.PREFERRED}", dialect.PREFERRED),
    ],
)
def test_the_content_type_is_the_one_asked_for_or_confluents_own(accept: str, kind: str) -> None:
    assert dialect.answer_type(accept) == kind


@pytest.mark.parametrize("version", ["1", "2147483647", "latest", "-1"])
def test_numbers_from_one_and_latest_are_versions(version: str) -> None:
    assert dialect.is_version(version)


@pytest.mark.parametrize("version", ["0", "-2", "2147483648", "9" * 5000, "newest", "\u0661", ""])
def test_anything_else_is_no_version(version: str) -> None:
    assert not dialect.is_version(version)


def test_an_error_code_decides_on_the_status() -> None:
    fault = dialect.fault_of(409, b'{"error_code": 40405, "message": "must be soft deleted first"}')
    assert (fault.status, fault.code) == (404, 40405)


def test_an_error_without_a_code_gets_the_status_as_its_code() -> None:
    assert dialect.fault_of(404, b"") == (404, "HTTP 404 Not Found")
    assert dialect.fault_of(500, b'{"error_code": 0, "message": "no"}') == (500, "no")
    assert dialect.fault_of(400, b"not JSON") == (400, "not JSON")


def test_the_name_of_a_java_class_is_taken_off_a_message() -> None:
    told = b'{"error_code": 409, "message": "io.apicurio.RuleViolationException: Incompatible artifact: a"}'
    assert dialect.fault_of(409, told).message == "Incompatible artifact: a"


async def test_a_front_whose_registry_is_away_says_so_in_confluents_form(away: httpx.AsyncClient) -> None:
    answer = await away.get("/subjects")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == dialect.PREFERRED
    assert answer.json()["error_code"] == 503


async def test_a_front_whose_registry_is_away_says_so_for_schemas_by_id_and_levels(away: httpx.AsyncClient) -> None:
    assert (await away.get(f"/schemas/id={'0' * 32}")).status_code == 503
    assert (await away.get("/config/orders-value")).status_code == 503


async def test_an_id_that_is_neither_number_nor_fingerprint_is_unknown_without_asking(away: httpx.AsyncClient) -> None:
    assert (await away.get("/schemas/id=none")).json() == {"error_code": 40403, "message": "Schema none not found"}


async def test_a_wrong_version_is_refused_without_asking(away: httpx.AsyncClient) -> None:
    assert (await away.get("/subjects/a/versions/newest")).json()["error_code"] == 42202


async def test_an_unknown_path_is_not_found_without_asking(away: httpx.AsyncClient) -> None:
    answer = await away.post("/v1/metadata/id")
    assert (answer.status_code, answer.json()["error_code"]) == (404, 404)


async def test_the_root_answers_with_an_empty_object(away: httpx.AsyncClient) -> None:
    assert (await away.get("/")).json() == {}


async def test_a_request_above_the_limit_is_refused(away: httpx.AsyncClient) -> None:
    answer = await away.post("/subjects/a/versions", content=b" " * (upstream.MAX_BODY + 1))
    assert answer.status_code == 413
    assert answer.json()["error_code"] == 413


class Registrations:
    """Schemas by content id, in the order of registration, with a count of how often they were read."""

    def __init__(self, *fingerprints: str) -> None:
        self.fingerprints = list(fingerprints)
        self.listings = 0
        self.schemas_read: list[int] = []

    async def newest_first(self) -> AsyncIterator[Entry]:
        self.listings += 1
        for place in range(len(self.fingerprints), 0, -1):
            yield Entry(place, ContentId(place))

    async def fingerprint_of(self, content_id: ContentId) -> Fingerprint | None:
        self.schemas_read.append(content_id)
        return Fingerprint(self.fingerprints[content_id - 1])

    def index(self, interval: float = 3600) -> FingerprintIndex:
        return FingerprintIndex(self.newest_first, self.fingerprint_of, interval=interval)


async def test_a_fingerprint_is_found_without_a_second_reading() -> None:
    there = Registrations("a", "b")
    index = there.index()
    assert [await index.find(Fingerprint(name)) for name in "abab"] == [1, 2, 1, 2]
    assert there.listings == 1


async def test_misses_do_not_read_again_within_the_interval() -> None:
    there = Registrations("a")
    index = there.index()
    assert [await index.find(Fingerprint("x")) for _ in range(3)] == [None, None, None]
    assert there.listings == 1


async def test_what_is_registered_after_a_miss_is_found_at_once_and_alone_is_read() -> None:
    there = Registrations("a")
    index = there.index()
    await index.find(Fingerprint("b"))
    there.fingerprints.append("b")
    index.note_change()
    assert await index.find(Fingerprint("b")) == 2
    assert there.schemas_read == [1, 2]


async def test_what_others_registered_is_found_after_the_interval() -> None:
    there = Registrations("a")
    index = there.index(interval=0)
    await index.find(Fingerprint("b"))
    there.fingerprints.append("b")
    assert await index.find(Fingerprint("b")) == 2


async def test_of_two_schemas_with_one_fingerprint_the_first_is_found() -> None:
    assert await Registrations("a", "a").index().find(Fingerprint("a")) == 1


async def test_a_schema_that_apicurio_cannot_parse_is_given_as_it_is() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(500) if "format" in request.url.params else httpx.Response(200, text="not quite Avro")

    transport = httpx.MockTransport(answer)
    async with httpx.AsyncClient(transport=transport, base_url="http://apicurio") as client:
        assert await Apicurio(client).schema(ContentId(1)) == "not quite Avro"


async def test_schemas_are_parsed_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[threading.Thread] = set()
    parse = Schema.from_text

    def watched(*args: Any, **more: Any) -> Schema:
        threads.add(threading.current_thread())
        return parse(*args, **more)

    def apicurio(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path.endswith("/subjects/s/versions"):
            return httpx.Response(200, json=[1])
        if path.endswith(("/COMPATIBILITY", "/config")):
            return httpx.Response(200, json={"config": "BACKWARD", "compatibilityLevel": "BACKWARD"})
        if path.endswith("/search/versions"):
            return httpx.Response(200, json={"versions": [{"globalId": 1, "contentId": 1}]})
        if path.endswith("/schema"):
            return httpx.Response(200, text='"string"')
        return httpx.Response(200, json={"schema": '"string"', "version": 1, "id": 1})

    monkeypatch.setattr(Schema, "from_text", watched)
    async with httpx.AsyncClient(transport=httpx.MockTransport(apicurio), base_url=NOBODY) as client:
        own = Apicurio(client)
        assert await Reasons(own).against("s", b'{"schema": "\\"int\\""}')
        assert await SchemasById(own).text(parse('"string"').fingerprint) == '"string"'
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    ("origin", "status"), [(None, 503), ("http://front", 503), ("https://evil.example", 403), ("null", 403)]
)
async def test_a_web_page_of_another_origin_cannot_change_the_registry(
    away: httpx.AsyncClient, origin: str | None, status: int
) -> None:
    headers = {"content-type": "text/plain"} | ({"origin": origin} if origin else {})
    answer = await away.post("/subjects/s/versions", content=b'{"schema": "\\"int\\""}', headers=headers)
    assert answer.status_code == status
