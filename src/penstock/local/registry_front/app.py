"""ASGI app of the front: relay Apicurio's answers, and correct deviations from Confluent's API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import quote

import httpx
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from penstock.local.registry_front import dialect
from penstock.local.registry_front.apicurio import CONFLUENT, Apicurio
from penstock.local.registry_front.dialect import Fault
from penstock.local.registry_front.reasons import Reasons
from penstock.local.registry_front.schemas_by_id import SchemasById
from penstock.local.registry_front.upstream import forward, open_client, read, read_request, relayed

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]


def create_app(apicurio_url: str) -> Starlette:
    """Create the front for the Apicurio at this URL."""

    @asynccontextmanager
    async def opened(app: Starlette) -> AsyncIterator[None]:
        async with open_client(apicurio_url) as client:
            app.state.front = Front(client)
            yield

    async def answer(request: Request) -> Response:
        front: Front = request.app.state.front
        if request.method not in _READING and _is_from_another_page(request):
            return _fault(
                request, Fault(HTTPStatus.FORBIDDEN, "web pages of other origins may not change the registry")
            )
        return await front.answer(request)

    return Starlette(
        routes=[Route("/{path:path}", answer, methods=METHODS)],
        lifespan=opened,
        exception_handlers={HTTPException: _failed, ClientDisconnect: _gone},
    )


class Front:
    """Request handler. Its only state is the index of fingerprints."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._apicurio = Apicurio(client)
        self._by_id = SchemasById(self._apicurio)
        self._reasons = Reasons(self._apicurio)

    async def answer(self, request: Request) -> Response:
        """Answer like Confluent's registry."""
        segments = dialect.path_segments(request.scope["raw_path"])
        match request.method, segments:
            case (("GET" | "HEAD"), []):
                answer = _json(request, {})
            case "GET", ["contexts"]:
                answer = _json(request, ["."])
            case "GET", ["schemas", name] if name.startswith("id="):
                answer = await self._bare_schema(request, name.removeprefix("id="))
            case "GET", ["config", subject]:
                answer = await self._level(request, subject)
            case "DELETE", ["config", subject]:
                answer = await self._unset_level(request, subject)
            case _, ["apis", *_]:
                answer = relayed(await self._sent(request, request.scope["raw_path"].decode("ascii")))
            case _ if not dialect.is_known(segments):
                answer = _fault(request, Fault(dialect.NOT_FOUND, "HTTP 404 Not Found"))
            case _:
                answer = await self._passed_on(request, segments)
        return answer

    async def _bare_schema(self, request: Request, schema_id: str) -> Response:
        text = await self._by_id.text(schema_id)
        if text is None:
            return _fault(request, Fault(dialect.SCHEMA_NOT_FOUND, f"Schema {schema_id} not found"))
        plain = request.headers.get("response-type") == "PLAIN_STRING"
        return PlainTextResponse(text, media_type="text/plain" if plain else "application/json")

    async def _level(self, request: Request, subject: str) -> Response:
        level = await self._apicurio.subject_level(subject)
        if level is None and request.query_params.get("defaultToGlobal") == "true":
            level = await self._apicurio.global_level()
        if level is None:
            message = f"Subject '{subject}' does not have subject-level compatibility configured"
            return _fault(request, Fault(dialect.NO_SUBJECT_LEVEL, message))
        return _json(request, {"compatibilityLevel": level})

    async def _unset_level(self, request: Request, subject: str) -> Response:
        level = await self._apicurio.subject_level(subject)
        if level is None:
            return _fault(request, Fault(dialect.SUBJECT_NOT_FOUND, f"Subject '{subject}' not found."))
        await self._apicurio.unset_subject_level(subject)
        return _json(request, {"compatibilityLevel": level})

    async def _passed_on(self, request: Request, segments: list[str]) -> Response:
        place = dialect.version_place(segments)
        if place is not None:
            segments[place] = segments[place].lower()
            if not dialect.is_version(segments[place]):
                message = f"The specified version '{segments[place]}' is not a valid version id."
                return _fault(request, Fault(dialect.INVALID_VERSION, message))
        match request.method, segments:
            case "POST", ["subjects", subject, "versions"]:
                return await self._register(request, segments, subject)
            case "POST", ["compatibility", "subjects", subject, "versions", *version]:
                return await self._check(request, segments, subject, *version)
            case _:
                return await _as_confluent(request, await self._asked(request, segments))

    async def _register(self, request: Request, segments: list[str], subject: str) -> Response:
        """Register a schema. A rejection includes its reasons."""
        body = await read_request(request)
        answer = await self._asked(request, segments, body)
        if answer.status_code != HTTPStatus.CONFLICT:
            return await _as_confluent(request, answer)
        told = dialect.fault_of(answer.status_code, await read(answer)).message
        reasons = await self._reasons.against(subject, body) or [told]
        return _fault(request, dialect.incompatible(subject, reasons))

    async def _check(self, request: Request, segments: list[str], subject: str, version: str = "") -> Response:
        """Check a schema. With `verbose=true`, a rejection includes its reasons.

        Apicurio does not follow references in a check and reports such schemas as invalid. In this case, the computed
        reasons decide.
        """
        body = await read_request(request)
        answer = await self._asked(request, segments, body)
        if answer.is_error and answer.status_code != HTTPStatus.UNPROCESSABLE_ENTITY:
            return await _as_confluent(request, answer)
        told = await read(answer)
        if answer.is_success and json.loads(told)["is_compatible"]:
            return _verdict(request, compatible=True)
        reasons = await self._reasons.against(subject, body, version)
        if answer.is_error and reasons is None:
            return _fault(request, dialect.fault_of(answer.status_code, told))
        return _verdict(request, compatible=answer.is_error and not reasons, reasons=reasons or ())

    async def _asked(self, request: Request, segments: list[str], body: bytes | None = None) -> httpx.Response:
        target = "/".join([CONFLUENT, *(quote(part, safe="") for part in segments)])
        own = {"accept": "*/*", "content-type": "application/json"}
        return await self._sent(request, target, body, **own)

    async def _sent(self, request: Request, target: str, body: bytes | None = None, **own: str) -> httpx.Response:
        answer = await forward(self._client, request, target, body=body, **own)
        if request.method not in {"GET", "HEAD", "OPTIONS"}:
            self._by_id.note_change()
        return answer


def _is_from_another_page(request: Request) -> bool:
    """Whether a browser sent the request for a page of a different origin.

    The check matters because bodies of any content type are parsed as JSON here.
    """
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2] != request.headers.get("host")


async def _as_confluent(request: Request, answer: httpx.Response) -> Response:
    """Convert the answer to Confluent's content type and error format."""
    if answer.is_error:
        return _fault(request, dialect.fault_of(answer.status_code, await read(answer)))
    is_json = answer.headers.get("content-type", "").startswith("application/json")
    return relayed(answer, dialect.answer_type(request.headers.get("accept", "")) if is_json else None)


def _json(request: Request, body: object, status: int = HTTPStatus.OK) -> Response:
    return JSONResponse(body, status, media_type=dialect.answer_type(request.headers.get("accept", "")))


def _verdict(request: Request, *, compatible: bool, reasons: Sequence[str] = ()) -> Response:
    messages = {"messages": list(reasons)} if request.query_params.get("verbose") == "true" else {}
    return _json(request, {"is_compatible": compatible, **messages})


def _fault(request: Request, fault: Fault) -> Response:
    return _json(request, fault.body, fault.status)


async def _failed(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return _fault(request, Fault(error.status_code, error.detail))


async def _gone(_request: Request, _error: Exception) -> Response:
    """Return an empty answer. The client has disconnected, but Starlette requires a response."""
    return Response(status_code=HTTPStatus.BAD_REQUEST)
