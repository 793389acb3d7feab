"""Responses of the console: JSON as printed by the commands, and errors with accurate status codes."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, ClassVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import PenstockError, Terminal, Transient, UsageError

_RETRY_SECONDS = 2.0
_SHOWN = 100


class JsonAnswer(Response):
    """JSON response, in the format of the commands' `--json`: times and durations are texts."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - Starlette's signature
        """Encode the value."""
        return json.dumps(content, default=str, ensure_ascii=False).encode()


class NotServed(Terminal):
    """Unknown path, or a method not supported by the path."""

    code: ClassVar[str] = "request.path"


def told(_request: Request, error: Exception) -> Response:
    """Return the response to a request that failed with a Penstock error."""
    if not isinstance(error, PenstockError):
        raise error
    headers = {"retry-after": f"{error.retry_after or _RETRY_SECONDS:.0f}"} if isinstance(error, Transient) else None
    return _answer(error, _status(error), headers)


def not_served(request: Request, error: Exception) -> Response:
    """Return Starlette's own rejections in Penstock's error format."""
    if not isinstance(error, HTTPException):
        raise error
    message = f"{request.method:.10} {request.url.path:.{_SHOWN}} is not served"
    refused = NotServed(message, hint="docs/console.md lists what is; all of it is read with GET")
    return _answer(refused, error.status_code, error.headers)


def _answer(error: PenstockError, status: int, headers: Any = None) -> Response:  # noqa: ANN401 - as Starlette has them
    body = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
    return JsonAnswer(body, status, headers)


def _status(error: PenstockError) -> HTTPStatus:
    if isinstance(error, Transient):
        return HTTPStatus.SERVICE_UNAVAILABLE
    if isinstance(error, LookupError):
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(error, UsageError) else HTTPStatus.INTERNAL_SERVER_ERROR
