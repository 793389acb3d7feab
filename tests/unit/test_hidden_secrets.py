"""What may be shown of a value never has a secret in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

from penstock.actions.builtin.sql_connection import check_database
from penstock.catalog.database import Database
from penstock.config import load_settings
from penstock.config.secrets import hide
from penstock.config.settings import shown_settings
from penstock.errors import ConfigError


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:hunter2@db/x",
        "postgresql://me:hunt/er2@db:5432/x",
        "postgresql://me:hunter2/@db/x",
        "postgresql://me:a@hunter2@db/x",
        "postgresql://user@company:hunter2@db.example:5432/app",
        "postgresql://user@company:hunt@hunter2@db.example:5432/app",
        "http://a:8081,http://me@company:hunter2@b:8081",
        "postgresql://:hunter2@db/x",
        "postgresql://db/x?password=hunter2",
        "postgresql://db/x?user=me&password=hunter2&sslmode=require",
        "postgresql://db/x?p%61ssword=hunter2",
        "postgresql://db/x?sslpassword=hunter2",
        "jdbc:postgresql://db/x;password=hunter2",
        "host=db user=me password=hunter2",
        "host=db password = hunter2 user=me",
        "password='a hunter2' host=db",
        r"password='it\'s hunter2' host=db",
        r"password=a\ hunter2 host=db",
        "password=a&b,hunter2 host=db",
        "password='hunter2",
        "http://a:8081,http://me:hunter2@b:8081",
        "http://me:hunter2@a:8081,http://b:8081",
        "-XX:+UseSerialGC -Dmy.password=hunter2 -Dmy.size=3",
        '-Dmy.token="hunter2 x"',
        "https://registry/?access_token=hunter2",
        "jdbc:sqlserver://h:1433;databaseName=d;user=u;password=hunter2",
        "jdbc:sqlserver://h;user=u;password={a hunter2};encrypt=true",
        "jdbc:sqlserver://h;user=u;password=a;hunter2",
        "AccountEndpoint=https://x/;AccountKey=hunter2",
        "Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey=hunter2",
        "postgresql://h/db?application_name=x;password=hunter2",
        "http://h/?a=x;y&password=a;hunter2",
        '"-Djavax.net.ssl.keyStorePassword=hunter2"',
        '"-Dmy.password=a hunter2" -Dmy.size=3',
        "-Dmy.options='size=3 password=hunter2'",
        "(password=hunter2)",
        "{user=u, password=hunter2}",
        "http://h/x#password=hunter2",
        "conf=password=hunter2",
        "-Dmy.password='a b'hunter2",
        "jdbc:sqlserver://h;password={a }} hunter2}",
        '"password"="a hunter2"',
        "http://h/?access[token]=hunter2",
        "-Dpass=hunter2",
        "-Dpgpass=hunter2",
        "-Dmy.pass=hunter2",
    ],
)
def test_the_secret_of_an_address_is_hidden(text: str) -> None:
    assert "hunter2" not in hide("address", text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:pw@db:5432/x?sslmode=require", "postgresql://me:********@db:5432/x?sslmode=require"),
        ("http://a:8081,http://me:pw@b:8081/x", "http://a:8081,http://me:********@b:8081/x"),
        ("http://h/?token=a;b&size=3", "http://h/?token=********&size=3"),
        ('"-Dmy.password=a b" -Dmy.size=3', '"-Dmy.password=******** -Dmy.size=3'),
        ("Endpoint=sb://x/;SharedAccessKeyName=n", "Endpoint=sb://x/;SharedAccessKeyName=n"),
        ("host=db password='a b' user=me", "host=db password=******** user=me"),
    ],
)
def test_the_rest_of_an_address_is_shown(text: str, shown: str) -> None:
    assert hide("address", text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://a:8081,http://b:8081",
        "postgresql://penstock@localhost:5433/penstock?passfile=/home/a/.penstock/pgpass",
        "host=db user=me dbname=x",
        "s3a://bucket/path",
        "SELECT a = b FROM t",
        "host=db passfile=/home/a/.penstock/pgpass user=me",
        "-Dpgpassfile=/home/a/pgpass -Dcompass=north",
    ],
)
def test_what_has_no_secret_is_shown_whole(text: str) -> None:
    assert hide("address", text) == text


@pytest.mark.parametrize(
    "name", ["encryption.key", "server-side-encryption.key", "api_key", "fs.azure.account.key.x.net", "sslPassphrase"]
)
def test_a_key_that_encrypts_or_opens_is_a_secret(name: str) -> None:
    assert hide(name, "hunter2") == "********"


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_any_password_of_a_connection_string_is_hidden(password: str) -> None:
    marked = f"hunter2{password}hunter2"
    assert "hunter2" not in hide("database", make_conninfo(host="db", password=marked, user="me"))


def test_no_setting_shows_a_secret() -> None:
    env = {
        "PENSTOCK_DATABASE": "host=db password='s 1'",
        "PENSTOCK_S3_ENCRYPTION_KEY": "hunter2",
        "PENSTOCK_CONNECT": "http://connect/?token=hunter2",
    }
    shown = {name: value for name, value, _ in shown_settings(load_settings(env=env))}
    assert (shown["database"], shown["s3.encryption.key"]) == ("host=db password=********", "********")
    assert shown["connect"] == "http://connect/?token=********"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hun/ter2@db/x",
        "postgresql://me:12/hunter2@db/x",
        "postgresql://me:12?hunter2@db/x",
        "postgres://me:hun#ter2@db/x",
        "postgresql://db:hunter2/x",
        "postgresql://user@company:hunter2@db.example:5432/app",
        "postgresql://u:p@hunter2@127.0.0.1:1/db",
    ],
)
def test_a_password_that_ends_the_address_early_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_settings(env={"PENSTOCK_DATABASE": url})
    assert "hun" not in str(raised.value)
    with pytest.raises(ValueError, match="not a valid URL"):
        check_database(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s%2Fe@a:1,b:2/x?target_session_attrs=any",
        "postgresql://db:5432/x?user=me@corp",
        "postgresql://[::1]:5432/x",
        "postgresql:///x?host=/run/pg",
        "host=db password='a/b@c'",
        "postgresql://me:a:b@db/x",
    ],
)
def test_other_addresses_of_a_database_are_taken(url: str) -> None:
    assert load_settings(env={"PENSTOCK_DATABASE": url}).settings.database.get_secret_value() == url


def test_a_text_that_is_no_address_of_a_database_is_not_quoted() -> None:
    chosen = load_settings(env={"PENSTOCK_DATABASE": "me:hunter2"}).settings
    with pytest.raises(ConfigError) as raised:
        Database(chosen)
    assert "hun" not in str(raised.value)
