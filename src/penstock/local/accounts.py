"""Unprivileged account for programs that refuse to run as root."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable
from pathlib import Path

from penstock.local.part import Account

NOBODY = "nobody"


def unprivileged_account(paths: Iterable[Path]) -> Account | None:
    """Return the account to run as: `nobody` for root, otherwise None (the current user).

    `read_anywhere` is set if `nobody` could not reach the paths without extra rights.
    """
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(NOBODY)
    return Account(entry.pw_uid, entry.pw_gid, read_anywhere=any(_is_closed(path) for path in paths))


def _is_closed(path: Path) -> bool:
    """Whether any parent directory is closed to other users."""
    there = (parent for parent in path.absolute().parents if parent.exists())
    return any(not parent.stat().st_mode & stat.S_IXOTH for parent in there)
