"""The account for a program that refuses to run as root."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable
from pathlib import Path

from penstock.local.part import Account

NOBODY = "nobody"


def unprivileged_account(paths: Iterable[Path]) -> Account | None:
    """The account to run as, None being one's own; root gives way to `nobody`, who must reach these paths."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(NOBODY)
    return Account(entry.pw_uid, entry.pw_gid, read_anywhere=any(_is_closed(path) for path in paths))


def _is_closed(path: Path) -> bool:
    """Whether some directory on the way lets only its owner through."""
    there = (parent for parent in path.absolute().parents if parent.exists())
    return any(not parent.stat().st_mode & stat.S_IXOTH for parent in there)
