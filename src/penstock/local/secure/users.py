"""Users of a secured stack with rights, and passwords generated once."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from penstock.errors import DataMismatch
from penstock.kafka.acls import Grant
from penstock.kafka.errors import Right
from penstock.local.files import write_private

ADMIN = "admin"
BROKER = "broker"


class User(NamedTuple):
    """User with rights, in words and as grants. A superuser needs no grants."""

    name: str
    may: str
    grants: tuple[Grant, ...] = ()


USERS = (
    User(ADMIN, "do everything"),
    User(
        "app",
        "read and write topics app.*, with groups app.*",
        (
            Grant("app", Right("READ", "topic", "app."), prefixed=True),
            Grant("app", Right("WRITE", "topic", "app."), prefixed=True),
            Grant("app", Right("READ", "group", "app."), prefixed=True),
        ),
    ),
    User(
        "reader",
        "read every topic, with groups reader.*",
        (
            Grant("reader", Right("READ", "topic", "*")),
            Grant("reader", Right("READ", "group", "reader."), prefixed=True),
        ),
    ),
)
SUPERUSERS = (ADMIN, BROKER)
GRANTS = tuple(grant for user in USERS for grant in user.grants)
_NAMES = (BROKER, *(user.name for user in USERS))


def secrets_directory(data: Path) -> Path:
    """Return the directory of the stack's certificates, passwords and settings files."""
    return data / "secure"


def settings_file(data: Path, user: str) -> Path:
    """Return the path of a user's settings, for `penstock --settings` or PENSTOCK_SETTINGS."""
    return secrets_directory(data) / f"{user}.yaml"


def ensure_passwords(data: Path) -> Mapping[str, str]:
    """Return the passwords by user, generated at the first start."""
    file = secrets_directory(data) / "passwords.json"
    if not file.exists():
        write_private(file, json.dumps({name: secrets.token_urlsafe(24) for name in _NAMES}))
    try:
        passwords = json.loads(file.read_text(encoding="ascii"))
    except ValueError as error:
        raise _damaged(file) from error
    if not isinstance(passwords, dict) or set(passwords) != set(_NAMES):
        raise _damaged(file)
    return passwords


def _damaged(file: Path) -> DataMismatch:
    hint = "the brokers know no other passwords; `penstock down --wipe` begins anew"
    return DataMismatch(f"{file} does not hold the passwords of {', '.join(_NAMES)}", hint=hint)
