"""Kafka Connect beside the session's stack, started when the first test asks for it, and databases of one's own."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from penstock.config import Settings
from penstock.config.database_url import at_database
from penstock.local.parts import connect
from penstock.local.runner import Runner

if TYPE_CHECKING:
    from tests.conftest import Running

MakeDatabase = Callable[..., str]


@pytest.fixture(scope="session")
def capturing(stack: Running) -> Iterator[Settings]:
    """The settings of a client of the session's stack, with Kafka Connect running."""
    if stack.stack is None:
        yield stack.settings
        return
    site = stack.stack._running_site()
    site.jars.fetch(connect.FILES)
    [part] = connect.parts(site)
    with ThreadPoolExecutor(1) as spawner:
        runner = Runner(part, spawner, threading.Event(), lambda _state: None)
        runner.boot()
        yield stack.settings
        runner.ask_to_stop()
        runner.await_stop()


@pytest.fixture(scope="session")
def make_database(capturing: Settings) -> Iterator[MakeDatabase]:
    """Make a database of one's own with these statements; gives its URL. Slots left in it go with it."""
    url = capturing.database.get_secret_value()
    made: list[str] = []

    def make(*statements: str) -> str:
        name = f"test_{uuid.uuid4().hex[:12]}"
        run(url, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        made.append(name)
        own = at_database(url, name)
        run(own, *statements)
        return own

    yield make
    for name in made:
        run(url, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def run(url: str, *statements: Any) -> list[Any]:
    """Run statements in a database, each on its own; the rows of the last one."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for changes to come through."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)
