"""Checks of a job before running: known processors, and tables with the columns that the processors write."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.catalog.database import Connection
from penstock.catalog.jobs.spec import PROCESSORS, TABLES, JobSpec, Route
from penstock.catalog.processors import find_processor
from penstock.catalog.staging.tables import ORIGIN, columns_of, has_origin_key
from penstock.errors import DatabaseRefused, Problem, UsageError


def problems_of(connection: Connection, spec: JobSpec, place: Callable[[str], str]) -> list[Problem]:
    """Return all problems that prevent the job from running."""
    return [problem for route in spec.routes for problem in _route_problems(connection, route, place)]


def _route_problems(connection: Connection, route: Route, place: Callable[[str], str]) -> Iterator[Problem]:
    written: tuple[str, ...] = ()
    try:
        written = find_processor(route.processor).columns
    except UsageError as error:
        yield Problem(place(PROCESSORS), error.message, error.hint)
    try:
        known = columns_of(connection, route.table)
    except DatabaseRefused as error:
        yield Problem(place(TABLES), error.message, error.hint)
        return
    if missing := [name for name in (*written, *ORIGIN) if name not in known]:
        hint = f"{route.processor} writes them, and each row says which message it comes from"
        yield Problem(place(TABLES), f"the table {route.table} lacks the columns {', '.join(missing)}", hint)
    elif not has_origin_key(connection, route.table):
        hint = "make them its primary key: a row that comes again is known by it"
        yield Problem(place(TABLES), f"the table {route.table} has no unique key of {', '.join(ORIGIN)}", hint)
