"""Display of a secured stack's users: rights and settings files, never passwords."""

from __future__ import annotations

import shlex
from pathlib import Path

from penstock.cli.output import out, show_table, text
from penstock.local.secure import ADMIN, USERS, settings_file


def show_users(data: Path) -> None:
    """Print the users and the usage of their settings files."""
    rows = ((user.name, user.may, text(settings_file(data, user.name))) for user in USERS)
    show_table(("user", "may", "settings"), rows)
    out.print("each file has the user's password and the addresses; the registry needs no password:")
    out.print(f"  penstock --settings {_quoted(settings_file(data, ADMIN))} topics create app.orders")
    out.print(f"  export PENSTOCK_SETTINGS={_quoted(settings_file(data, 'app').absolute())}")


def _quoted(file: Path) -> str:
    return text(shlex.quote(str(file)))
