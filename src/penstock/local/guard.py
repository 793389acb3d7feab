"""Run a command that dies with its parent: `guard.py PARENT SIGNAL [--user UID GID [--read-anywhere]] -- COMMAND…`.

The script is started by path and imports nothing of Penstock, so startup takes milliseconds. The order of steps
matters: the kernel clears the parent-death signal when the user changes.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Bind to the parent's life, then exec the command."""
    options = _parse()
    if options.user:
        _become(*options.user, read_anywhere=options.read_anywhere)
    _call("prctl", _PR_SET_PDEATHSIG, options.signal, 0, 0, 0)
    if os.getppid() != options.parent:
        sys.exit("the parent died before the command began")
    os.execvp(options.command[0], options.command)  # noqa: S606 - becoming the command is the purpose


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("parent", type=int)
    parser.add_argument("signal", type=int)
    parser.add_argument("--user", type=int, nargs=2)
    parser.add_argument("--read-anywhere", action="store_true")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def _become(user: int, group: int, *, read_anywhere: bool) -> None:
    """Change the user. With `read_anywhere`, keep the right to traverse closed directories, such as root's home."""
    if read_anywhere:
        _call("prctl", _PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    if read_anywhere:
        bit = 1 << _CAP_DAC_READ_SEARCH
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        effective_permitted_inheritable = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
        _call("capset", header, effective_permitted_inheritable)
        _call("prctl", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_READ_SEARCH, 0, 0)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        sys.exit(f"{name}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main()
