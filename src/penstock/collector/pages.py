"""Pages: health, metrics and the API's description."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from penstock.collector.answers import refusal
from penstock.collector.health import Readiness
from penstock.collector.metrics import CONTENT_TYPE, Metrics
from penstock.collector.refusals import NoSuchPath, Refusal, WrongMethod
from penstock.errors import PenstockError
from penstock.kafka.acknowledged import AcknowledgedProducer

_DOCS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


def make_pages(
    producer: AcknowledgedProducer, readiness: Readiness, metrics: Metrics, openapi: dict[str, object]
) -> Starlette:
    """Return the application that serves the pages."""
    docs = files(__package__).joinpath("docs.html").read_text(encoding="utf-8")

    async def healthz(_request: Request) -> Response:
        return _health(producer.fatal)

    async def readyz(_request: Request) -> Response:
        return _health(await readiness.obstacle())

    async def metrics_page(_request: Request) -> Response:
        return Response(metrics.page(), media_type=CONTENT_TYPE)

    async def openapi_page(_request: Request) -> Response:
        return JSONResponse(openapi)

    async def docs_page(_request: Request) -> Response:
        return HTMLResponse(docs, headers={"content-security-policy": _DOCS_POLICY})

    async def root(_request: Request) -> Response:
        return RedirectResponse("docs")

    handlers = {
        "/": root,
        "/healthz": healthz,
        "/readyz": readyz,
        "/metrics": metrics_page,
        "/openapi.json": openapi_page,
        "/docs": docs_page,
    }
    routes = [Route(path, handler, methods=["GET"]) for path, handler in handlers.items()]
    return Starlette(routes=routes, exception_handlers={HTTPException: _not_served})


def _health(obstacle: PenstockError | None) -> Response:
    if obstacle is None:
        return JSONResponse({"status": "ok"})
    error = {"code": obstacle.code, "message": obstacle.message, "hint": obstacle.hint}
    return JSONResponse({"status": "unavailable", "error": error}, HTTPStatus.SERVICE_UNAVAILABLE)


async def _not_served(request: Request, error: Exception) -> Response:
    """Return Starlette's 404 or 405 in the format of other refusals."""
    wrong_method = isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED
    path = request.url.path
    refused: Refusal = WrongMethod(f"{path:.100} is read with GET", allowed="GET, HEAD")
    if not wrong_method:
        refused = NoSuchPath(f"nothing is served at {path:.100}", hint="/docs describes what is")
    answer = refusal(refused)
    return Response(answer.body, answer.status, dict(answer.headers), "application/json")
