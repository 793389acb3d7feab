from __future__ import annotations

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from penstock.config import load_settings
from penstock.config.database_url import at_database, local_database_url


def test_the_local_database_is_reached_with_a_password_file() -> None:
    found = conninfo_to_dict(local_database_url(5433, Path("/home/ann/50% off/.penstock")))
    assert found == {
        "user": "penstock",
        "host": "localhost",
        "port": "5433",
        "dbname": "penstock",
        "passfile": "/home/ann/50% off/.penstock/pgpass",
    }


@pytest.mark.parametrize("name", ["shop", "a/b", "50% off", "ü?x=y"])
def test_another_database_of_the_same_server_keeps_all_else(name: str) -> None:
    url = "postgresql://me:s%2Fe@db:5432/orders?passfile=/a/b&sslmode=require"
    assert conninfo_to_dict(at_database(url, name)) == {**conninfo_to_dict(url), "dbname": name}


def test_the_default_database_is_that_of_the_local_stack(tmp_path: Path) -> None:
    chosen = load_settings(env={"PENSTOCK_DATA": str(tmp_path), "PENSTOCK_PORTS_POSTGRES": "6543"}).settings
    assert chosen.database.get_secret_value() == local_database_url(6543, tmp_path)
