"""Catalog over HTTP, for other tools: the results of `penstock catalog … --json`."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.routing import Route

from penstock.catalog.find.dataset import owners, resolve, view
from penstock.catalog.find.lineage import lineage
from penstock.catalog.find.loads import loads
from penstock.catalog.find.search import search
from penstock.config.units import parse_time
from penstock.console.answers import JsonAnswer
from penstock.console.catalog_reader import CatalogReader
from penstock.console.questions import (
    DatasetQuestion,
    LineageQuestion,
    LoadsQuestion,
    OwnersQuestion,
    SearchQuestion,
    question,
)


class CatalogApi:
    """One method per path. Starlette runs the methods on threads, because they wait for PostgreSQL."""

    def __init__(self, reader: CatalogReader) -> None:
        self._reading = reader.reading

    def routes(self) -> list[Route]:
        """Return the routes below the catalog's path."""
        paths = {
            "/search": self._search,
            "/datasets/{dataset:path}": self._dataset,
            "/owners": self._owners,
            "/lineage": self._lineage,
            "/loads": self._loads,
        }
        return [Route(path, answer, methods=["GET"]) for path, answer in paths.items()]

    def _search(self, request: Request) -> JsonAnswer:
        asked = question(SearchQuestion, request)
        with self._reading() as connection:
            return JsonAnswer([asdict(found) for found in search(connection, asked.q, asked.limit)])

    def _dataset(self, request: Request) -> JsonAnswer:
        asked = question(DatasetQuestion, request)
        with self._reading() as connection:
            urn = resolve(connection, asked.dataset)
            return JsonAnswer(asdict(view(connection, urn, versions=asked.versions, loads=asked.loads)))

    def _owners(self, request: Request) -> JsonAnswer:
        asked = question(OwnersQuestion, request)
        with self._reading() as connection:
            return JsonAnswer(owners(connection, resolve(connection, asked.dataset)))

    def _lineage(self, request: Request) -> JsonAnswer:
        asked = question(LineageQuestion, request)
        with self._reading() as connection:
            return JsonAnswer(asdict(lineage(connection, resolve(connection, asked.dataset), asked.depth)))

    def _loads(self, request: Request) -> JsonAnswer:
        asked = question(LoadsQuestion, request)
        now = parse_time(asked.as_of)
        with self._reading() as connection:
            urn = resolve(connection, asked.dataset) if asked.dataset else None
            found = loads(connection, urn, now=now, late=asked.late, limit=asked.limit)
            return JsonAnswer([asdict(item) for item in found])
