"""An empty catalog for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from penstock.catalog.database import Database
from penstock.config import Settings
from tests.conftest import Running
from tests.integration.catalog.events import empty


def at_database(settings: Settings, name: str) -> Settings:
    """The same server, another database."""
    url = urlsplit(settings.database.get_secret_value())
    return settings.model_copy(update={"database": SecretStr(urlunsplit(url._replace(path=f"/{name}")))})


def run(settings: Settings, statement: sql.Composed) -> None:
    with psycopg.connect(at_database(settings, "postgres").database.get_secret_value(), autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture(scope="session")
def own_database(stack: Running) -> Iterator[Settings]:
    """A database for the tests of the catalog; making one takes longer than emptying it."""
    name = f"catalog_{uuid.uuid4().hex[:8]}"
    run(stack.settings, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield at_database(stack.settings, name)
    run(stack.settings, sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


@pytest.fixture
def catalog_settings(own_database: Settings) -> Settings:
    """The settings of a client whose catalog is empty."""
    with Database(own_database) as opened:
        empty(opened)
    return own_database


@pytest.fixture
def database(catalog_settings: Settings) -> Iterator[Database]:
    """An empty catalog."""
    with Database(catalog_settings) as opened:
        yield opened
