"""How the users of a secured stack are shown: what each may do, and where their settings are; never a password."""

from __future__ import annotations

import shlex
from pathlib import Path

from penstock.cli.output import out, show_table, text
from penstock.local.secure import USERS, settings_file


def show_users(data: Path) -> None:
    """Tell who can log in, and how."""
    files = {user: settings_file(data, user.name) for user in USERS}
    show_table(("user", "may", "settings"), ((user.name, user.may, text(file)) for user, file in files.items()))
    out.print("each file has the user's password and the addresses; the registry and PostgreSQL need no password:")
    *_, last = files.values()
    out.print(f"  penstock --settings {text(shlex.quote(str(last)))} topics list")
    out.print(f"  export PENSTOCK_SETTINGS={text(shlex.quote(str(last.absolute())))}")
