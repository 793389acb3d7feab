"""Console application: its routes, and the responses to errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from penstock.config import Settings
from penstock.console.answers import JsonAnswer, not_served, told
from penstock.console.catalog_api import CatalogApi
from penstock.console.catalog_reader import CatalogReader
from penstock.errors import PenstockError


def make_app(settings: Settings) -> Starlette:
    """Create the application. Connections to PostgreSQL are held from the first request until shutdown."""
    reader = CatalogReader(settings)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        reader.close()

    return Starlette(
        routes=[Route("/healthz", _healthz), Mount("/api/catalog", routes=CatalogApi(reader).routes())],
        exception_handlers={PenstockError: told, HTTPException: not_served},
        lifespan=life,
    )


async def _healthz(_request: Request) -> Response:
    """Report the health of the console only. Requests to PostgreSQL report failures of PostgreSQL themselves."""
    return JsonAnswer({"status": "ok"})
