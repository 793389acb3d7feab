"""Registry clients against a small HTTP server: what a real registry cannot be made to do."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from penstock.config import Settings, load_settings
from penstock.errors import (
    ConfigError,
    RegistryRefused,
    RegistryUnavailable,
    SchemaError,
    SchemaIncompatible,
    SchemaNotFound,
    SchemaSyntaxError,
)
from penstock.local.ports import free_ports
from penstock.local.secure.certificates import ensure_certificates
from penstock.schemas import Schema, connect_registry
from penstock.schemas.evolution import Compatibility
from penstock.schemas.registry.admin import RegistryAdmin

JSON = "application/vnd.schemaregistry.v1+json"
TEXT = Schema.from_text('"string"')


class Server:
    """Answers every request as `answer` says, and remembers what was asked."""

    def __init__(
        self,
        answer: Callable[[str, str], tuple[int, str, bytes]],
        certificate: Path | None = None,
        clients: Path | None = None,
    ) -> None:
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                server.asked.append(f"{self.command} {self.path}")
                server.headers.append({key.lower(): value for key, value in self.headers.items()})
                status, kind, body = answer(self.command, self.path)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - the handler's names

            def log_message(self, *_arguments: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self._http.server_port}"
        if certificate:
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(certificate)
            if clients:
                tls.load_verify_locations(clients)
                tls.verify_mode = ssl.CERT_REQUIRED
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving(
    answer: Callable[[str, str], tuple[int, str, bytes]], certificate: Path | None = None, clients: Path | None = None
) -> Iterator[Server]:
    server = Server(answer, certificate, clients)
    try:
        yield server
    finally:
        server.close()


def always(status: int, body: Any, kind: str = JSON) -> Callable[[str, str], tuple[int, str, bytes]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _method, _path: (status, kind, data)


def settings(url: str, **more: Any) -> Settings:
    return Settings(registry=url, timeout=more.pop("timeout", 5), **more)


@pytest.fixture
def nobody() -> str:
    """The URL of a port where nothing listens."""
    return f"http://127.0.0.1:{free_ports(1)[0]}"


SCHEMA_ANSWER = {"schema": '"string"'}


def test_the_next_url_is_asked_when_one_does_not_answer_and_is_kept(nobody: str) -> None:
    with serving(always(503, {})) as ill, serving(always(200, SCHEMA_ANSWER)) as well:
        registry = connect_registry(settings(f"{nobody}, {ill.url}, {well.url}/"))
        assert registry.by_id(1) == TEXT
        assert registry.by_id(2) == TEXT
        assert (len(ill.asked), well.asked) == (1, ["GET /schemas/ids/1", "GET /schemas/ids/2"])


def test_what_an_id_means_is_asked_once() -> None:
    with serving(always(200, SCHEMA_ANSWER)) as server:
        registry = connect_registry(settings(server.url))
        assert [registry.by_id(1) for _ in range(3)] == [TEXT] * 3
        assert len(server.asked) == 1


def test_a_base_path_is_kept() -> None:
    with serving(always(200, SCHEMA_ANSWER)) as server:
        connect_registry(settings(f"{server.url}/apis/ccompat/v7/")).by_id(1)
        assert server.asked == ["GET /apis/ccompat/v7/schemas/ids/1"]


def test_a_transient_failure_is_tried_again() -> None:
    answers = iter([(503, JSON, b""), (500, JSON, b"{}"), (200, JSON, json.dumps(SCHEMA_ANSWER).encode())])
    with serving(lambda _method, _path: next(answers)) as server:
        assert connect_registry(settings(server.url)).by_id(1) == TEXT


def test_no_registry_is_told_soon_with_every_url(nobody: str) -> None:
    with serving(always(503, {})) as ill:
        started = time.monotonic()
        with pytest.raises(RegistryUnavailable) as caught:
            connect_registry(settings(f"{nobody},{ill.url}")).by_id(1)
        assert time.monotonic() - started < 5
    assert nobody in caught.value.message
    assert f"{ill.url}/schemas/ids/1: HTTP 503" in caught.value.message
    assert "penstock up" in caught.value.hint


def test_a_registry_that_hangs_is_given_up_within_the_time_out() -> None:
    def hang(_method: str, _path: str) -> tuple[int, str, bytes]:
        time.sleep(3)
        return 200, JSON, b"{}"

    with serving(hang) as server:
        started = time.monotonic()
        with pytest.raises(RegistryUnavailable, match="timed out"):
            connect_registry(settings(server.url, timeout=0.5)).by_id(1)
        assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (200, "text/html", b"<html>welcome</html>"),
        (404, "text/html", b"<html>not here</html>"),
        (404, "application/json", b""),
        (302, "text/html", b""),
        (200, JSON, b"[1, 2]"),
        (200, JSON, b'{"schema": 5, "references": 7}'),
        (200, JSON, b'{"schema": "x", "references": [{"name": "a"}]}'),
        (400, JSON, b'{"error_code": "no number"}'),
    ],
)
def test_what_is_no_registry_is_told_with_status_and_content_type(status: int, kind: str, body: bytes) -> None:
    with serving(always(status, body, kind)) as server:
        with pytest.raises(RegistryRefused) as caught:
            connect_registry(settings(server.url)).by_id(1)
        assert f"{server.url}/schemas/ids/1" in caught.value.message
        assert f"HTTP {status}, {kind}" in caught.value.message
        assert "/apis/ccompat/v7" in caught.value.hint


def test_an_answer_without_end_is_cut_off() -> None:
    with (
        serving(always(200, b"x" * (17 * 1024 * 1024))) as server,
        pytest.raises(RegistryRefused, match="more than 16777216 bytes"),
    ):
        connect_registry(settings(server.url)).by_id(1)


@pytest.mark.parametrize("status", [401, 403])
def test_who_is_not_let_in_is_told_which_settings_to_use(status: int) -> None:
    with (
        serving(always(status, b"", "text/html")) as server,
        pytest.raises(RegistryRefused, match=f"does not let us in .HTTP {status}") as caught,
    ):
        connect_registry(settings(server.url)).by_id(1)
    assert "PENSTOCK_REGISTRY_USER" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (
            {"registry_user": "ada", "registry_password": "pässword"},
            "Basic " + base64.b64encode("ada:pässword".encode()).decode(),
        ),
        ({"registry_token": "abc"}, "Bearer abc"),
        ({}, None),
    ],
)
def test_who_we_are_is_said_as_the_settings_ask(given: dict[str, Any], sent: str | None) -> None:
    with serving(always(200, SCHEMA_ANSWER)) as server:
        connect_registry(settings(server.url, **given)).by_id(1)
        assert server.headers[0].get("authorization") == sent


def test_a_password_in_the_url_is_used_and_never_shown(nobody: str) -> None:
    with serving(always(500, {})) as server:
        url = server.url.replace("://", "://ada:hush@")
        with pytest.raises(RegistryUnavailable) as caught:
            connect_registry(settings(f"{url},{nobody.replace('://', '://bob:hush@')}")).by_id(1)
        assert server.headers[0]["authorization"].startswith("Basic ")
    assert "hush" not in str(caught.value) + repr(caught.value.details)
    assert "ada" in caught.value.message


@pytest.mark.parametrize("url", ["localhost:8081", "ftp://localhost", "http://", ""])
def test_an_address_that_is_no_url_is_a_mistake_in_the_settings(url: str) -> None:
    with pytest.raises(ConfigError, match="is not an http or https URL"):
        connect_registry(settings(url))


def test_a_certificate_is_trusted_only_if_its_authority_is(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, "localhost")
    with serving(always(200, SCHEMA_ANSWER), files.broker) as server:
        assert connect_registry(settings(server.url, registry_ca=files.authority)).by_id(1) == TEXT
        with pytest.raises(RegistryUnavailable, match="certificate verify failed") as caught:
            connect_registry(settings(server.url)).by_id(1)
    assert "PENSTOCK_REGISTRY_CA" in caught.value.hint


def test_a_registry_that_asks_for_a_certificate_is_shown_ours(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, "localhost")
    given = {"registry_ca": files.authority, "timeout": 1}
    with serving(always(200, SCHEMA_ANSWER), files.broker, clients=files.authority) as server:
        for own in ({}, {"registry_key": files.broker}):
            known = settings(server.url, registry_certificate=files.broker, **own, **given)
            assert connect_registry(known).by_id(1) == TEXT
        with pytest.raises(RegistryUnavailable):
            connect_registry(settings(server.url, **given)).by_id(1)


def test_a_certificate_without_its_key_is_a_mistake_in_the_settings(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, "localhost")
    for name in (files.authority, tmp_path / "missing.pem"):
        with pytest.raises(ConfigError, match=name.name):
            connect_registry(settings("https://localhost:1", registry_certificate=name))


def test_a_ca_file_that_is_none_is_a_mistake_in_the_settings(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    for name in ("ca.pem", "missing.pem"):
        with pytest.raises(ConfigError, match=name):
            connect_registry(settings("https://localhost:1", registry_ca=tmp_path / name))


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (404, {"error_code": 40403, "message": "Schema not found"}, SchemaNotFound),
        (409, {"error_code": 409, "message": "reasons"}, SchemaIncompatible),
        (409, {"error_code": 40901, "message": "reasons"}, SchemaIncompatible),
        (422, {"error_code": 42201, "message": "Invalid schema"}, SchemaSyntaxError),
        (422, {"error_code": 42205, "message": "read-only"}, RegistryRefused),
    ],
)
def test_a_registrys_refusals_are_told_apart(status: int, body: dict[str, Any], error: type[Exception]) -> None:
    with serving(always(status, body)) as server, pytest.raises(error):
        connect_registry(settings(server.url)).register("orders-value", TEXT)


def test_the_reasons_against_a_schema_are_kept() -> None:
    body = {"error_code": 409, "message": "reader type: INT not compatible with writer type: STRING at /fields/0/type"}
    with serving(always(409, body)) as server, pytest.raises(SchemaIncompatible) as caught:
        connect_registry(settings(server.url)).register("orders-value", TEXT)
    assert caught.value.details["reasons"] == [body["message"]]


def test_schemas_of_other_kinds_are_told() -> None:
    with (
        serving(always(200, {"schema": "message A {}", "schemaType": "PROTOBUF"})) as server,
        pytest.raises(SchemaError, match="of type PROTOBUF"),
    ):
        connect_registry(settings(server.url)).by_id(1)


def test_references_are_followed() -> None:
    answers = {
        "/schemas/ids/1": {
            "schema": '{"type": "record", "name": "R", "fields": [{"name": "e", "type": "E"}]}',
            "references": [{"name": "E", "subject": "an enum/é", "version": 3}],
        },
        "/subjects/an%20enum%2F%C3%A9/versions/3": {
            "subject": "an enum/é",
            "version": 3,
            "id": 7,
            "schema": '{"type": "enum", "name": "E", "symbols": ["A"]}',
        },
    }
    with serving(lambda _method, path: (200, JSON, json.dumps(answers[path]).encode())) as server:
        schema = connect_registry(settings(server.url)).by_id(1)
    assert [(item.name, item.subject, item.version) for item in schema.references] == [("E", "an enum/é", 3)]


def test_references_in_a_circle_are_told() -> None:
    answer = {
        "subject": "s",
        "version": 1,
        "id": 1,
        "schema": '"T"',
        "references": [{"name": "T", "subject": "s", "version": 1}],
    }
    with serving(always(200, answer)) as server, pytest.raises(SchemaError, match="refers to itself"):
        connect_registry(settings(server.url)).by_id(1)


def test_a_registry_that_compares_with_one_version_at_a_time_is_asked_for_the_newest() -> None:
    def karapace(_method: str, path: str) -> tuple[int, str, bytes]:
        return (200, JSON, b'{"is_compatible": false}') if path.endswith("/latest") else (404, JSON, b"")

    with serving(karapace) as server:
        assert not RegistryAdmin(settings(server.url)).accepts("orders-value", TEXT)
        assert server.asked[-1] == "POST /compatibility/subjects/orders-value/versions/latest"


def test_the_registrys_rule_holds_where_a_subject_has_none_of_its_own() -> None:
    def without_its_own(_method: str, path: str) -> tuple[int, str, bytes]:
        if path == "/config":
            return 200, JSON, b'{"compatibilityLevel": "FORWARD"}'
        return 404, JSON, b'{"error_code": 40408, "message": "none of its own"}'

    with serving(without_its_own) as server:
        assert RegistryAdmin(settings(server.url)).compatibility("orders-value") is Compatibility.FORWARD


@pytest.mark.parametrize("body", [{"compatibilityLevel": "SOMETIMES"}, {"is_compatible": "no"}, {"subjects": []}, 5])
def test_an_administrator_is_told_what_is_no_registry(body: Any) -> None:
    with serving(always(200, body)) as server:
        admin = RegistryAdmin(settings(server.url))
        asked: list[Callable[[], object]] = [
            admin.subjects,
            lambda: admin.versions("a"),
            lambda: admin.compatibility("a"),
            lambda: admin.accepts("a", TEXT),
        ]
        for ask in asked:
            with pytest.raises(RegistryRefused, match="does not answer as a schema registry"):
                ask()


def by_id(url: str) -> Any:
    return connect_registry(settings(url, registry_api="by-id"))


def test_the_by_id_kind_is_asked_for_bare_text() -> None:
    with serving(always(200, b'"string"', "text/plain")) as server:
        registry = by_id(f"{server.url}/schemaRegistry")
        assert registry.by_id(TEXT.fingerprint) == registry.by_id(5) == TEXT
        assert registry.lookup("any", TEXT).schema_id == TEXT.fingerprint
        assert server.asked == [f"GET /schemaRegistry/schemas/id={wanted}" for wanted in (TEXT.fingerprint, 5)]


def test_the_by_id_kind_has_no_versions_and_takes_no_schemas() -> None:
    with serving(always(404, b"", "text/plain")) as server:
        with pytest.raises(RegistryRefused, match="serves schemas by id only"):
            by_id(server.url).by_version("any", "latest")
        with pytest.raises(SchemaNotFound, match="no schema with the id"):
            by_id(server.url).register("any", TEXT)


def test_a_web_page_is_no_bare_schema() -> None:
    with (
        serving(always(200, b"<html></html>", "text/html")) as server,
        pytest.raises(RegistryRefused, match="text/html"),
    ):
        by_id(server.url).by_id(1)


@pytest.mark.parametrize("token", ["hunter2\n", "hun\nter2", " hunter2", "hunter2\u20ac"])
def test_a_token_that_no_header_can_have_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_settings(env={"PENSTOCK_REGISTRY_TOKEN": token})
    with pytest.raises(ConfigError) as of_a_pipeline:
        connect_registry(Settings().model_copy(update={"registry_token": SecretStr(token)}))
    for error in (raised.value, of_a_pipeline.value):
        assert "hun" not in str(error)
        assert "registry_token" in str(error)


def doubled_references(_method: str, path: str) -> tuple[int, str, bytes]:
    """Each subject refers twice to the one before."""
    number = int(path.rpartition("/")[0].rpartition("/")[0].rpartition("s")[2]) if "subjects" in path else 30
    node = {"type": "record", "name": f"R{number}", "fields": [{"name": "a", "type": f"R{number - 1}"}]}
    if not number:
        node["fields"] = []
    below = [{"name": name, "subject": f"s{number - 1}", "version": 1} for name in "ab"] if number else []
    body = {"subject": f"s{number}", "version": 1, "id": number, "schema": json.dumps(node), "references": below}
    return 200, JSON, json.dumps(body).encode()


def test_a_version_that_is_referred_to_twice_is_fetched_once() -> None:
    with serving(doubled_references) as server:
        assert connect_registry(settings(server.url)).by_id(5).name == "R30"
        assert len(server.asked) == 31


def test_all_references_together_have_the_time_of_one_request() -> None:
    def slowly(method: str, path: str) -> tuple[int, str, bytes]:
        time.sleep(0.1)
        return doubled_references(method, path)

    with serving(slowly) as server, pytest.raises(RegistryUnavailable):
        connect_registry(settings(server.url, timeout=0.5)).by_id(5)
    assert len(server.asked) < 31


def test_too_long_a_chain_of_references_is_refused() -> None:
    def endless(_method: str, path: str) -> tuple[int, str, bytes]:
        number = len(path) + sum(map(int, filter(str.isdigit, path)))
        below = [{"name": "T", "subject": f"{path}-{number}"[-200:], "version": number % 1000}]
        body = {"subject": "s", "version": 1, "id": 1, "schema": '"string"', "references": below}
        return 200, JSON, json.dumps(body).encode()

    with serving(endless) as server, pytest.raises(SchemaError, match="more than"):
        connect_registry(settings(server.url)).by_id(1)
