"""URLs of PostgreSQL databases."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, urlsplit

LOCAL_ROLE = "penstock"
LOCAL_DATABASE = "penstock"
_SCHEMES = ("postgresql", "postgres")
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?")

PASSWORD_FILE = "pgpass"  # noqa: S105 - the name of a file


def local_database_url(port: int, data: Path, database: str = LOCAL_DATABASE) -> str:
    """Return the URL of a database of the local stack. libpq reads the password from a file."""
    file = quote(str(data.absolute() / PASSWORD_FILE))
    return f"postgresql://{LOCAL_ROLE}@localhost:{port}/{database}?passfile={file}"


def at_database(url: str, database: str) -> str:
    """Return the URL with a different database name, on the same server."""
    return urlsplit(url)._replace(path=f"/{quote(database, safe='')}").geturl()


def database_url_problem(url: str) -> str | None:
    """Return why a PostgreSQL URL is invalid, without quoting the URL; None for a valid URL or other text.

    A password with `/`, `?` or `#` ends the address early: the rest would be read as the database name, and libpq's
    errors would quote the beginning of the password. With a second `@`, libpq would end the password at the first one
    and quote its end as the name of the host.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _SCHEMES:
        return None
    authority, rest = _split(rest)
    name = rest.partition("=")[0]
    hosts = authority.rpartition("@")[2].split(",")
    is_cut = authority.count("@") > 1 or ("@" not in authority and "@" in name)
    if is_cut or not all(_HOST.fullmatch(host) for host in hosts):
        return "not a valid URL; in a user or password write / as %2F, ? as %3F, # as %23 and @ as %40"
    return None


def _split(text: str) -> tuple[str, str]:
    end = next((at for at, character in enumerate(text) if character in "/?#"), len(text))
    return text[:end], text[end:]
