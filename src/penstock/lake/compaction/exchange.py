"""Atomic exchange of two directories, with `renameat2` and RENAME_EXCHANGE."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from penstock.errors import CompactionRefused, LakeUnavailable

_HERE = -100
_EXCHANGE = 2
_UNKNOWN_TO_SYSTEM = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}


def exchange(one: Path, other: Path) -> None:
    """Swap two directories atomically. Neither path is ever missing."""
    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "renameat2", None)
    if call is not None and call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return
    reason = ctypes.get_errno() if call is not None else errno.ENOSYS
    if reason in _UNKNOWN_TO_SYSTEM:
        raise CompactionRefused(
            f"{one}: this file system cannot exchange two directories in one moment",
            hint="write the table as Delta, or keep it on a local disk (ext4, xfs, btrfs, tmpfs)",
        )
    raise LakeUnavailable(f"{one}: {os.strerror(reason)}", hint="is the right to write there?")
