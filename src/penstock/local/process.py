"""Start and stop processes that never outlive their parent."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIGKILL, Signals

from penstock.errors import DiskFull, LocalError, PartFailed
from penstock.local import guard
from penstock.local.files import make_private_directory
from penstock.local.part import Account, Part

TAIL_LINES = 15
_TAIL_BYTES = 64 * 1024
_PRIVATE = 0o077
"""Umask of parts. Files contain all data, so only the stack's owner may read them."""
_NO_SPACE = "No space left on device"


def guarded(command: Sequence[str], *, orphan_signal: Signals = SIGKILL, account: Account | None = None) -> list[str]:
    """Wrap a command so that the process dies with this thread and, if given, runs as the account."""
    user = ["--user", str(account.uid), str(account.gid)] if account else []
    closed = ["--read-anywhere"] if account and account.read_anywhere else []
    wrapper = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), str(int(orphan_signal))]
    return [*wrapper, *user, *closed, "--", *command]


def spawn(part: Part) -> subprocess.Popen[bytes]:
    """Start a part in a new session and with a fresh log. A terminal's Ctrl-C then reaches only the stack.

    The process dies with the calling thread.
    """
    keep_previous(part.log)
    with part.log.open("ab") as log:
        return subprocess.Popen(
            guarded(part.command, orphan_signal=part.orphan_signal, account=part.account),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **part.env},
            start_new_session=True,
            umask=_PRIVATE,
        )


def run(name: str, command: Sequence[str], log: Path, *, account: Account | None = None, timeout: float = 60) -> None:
    """Run a preparation step of a part to completion, with its output in `log`."""
    make_private_directory(log.parent)
    with log.open("wb") as output:
        try:
            done = subprocess.run(
                guarded(command, account=account),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=_PRIVATE,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise failed(name, f"could not be prepared within {timeout:.0f} s", log) from error
    if done.returncode:
        raise failed(name, "could not be prepared", log)


def how_it_ended(code: int) -> str:
    """Describe an exit code in words."""
    return f"ended by {Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def failed(name: str, what: str, log: Path) -> LocalError:
    """Return the error for a failed part, with the last lines of its log."""
    lines = tail(log)
    if any(_NO_SPACE in line for line in lines):
        return DiskFull(f"{name} {what}: {_NO_SPACE}", hint=f"free some room and start again; its log is {log}")
    shown = "\n".join(f"  {line}" for line in lines) or "  (nothing)"
    return PartFailed(f"{name} {what}; the last lines of its log:\n{shown}", hint=f"the whole log is {log}")


def tail(log: Path, lines: int = TAIL_LINES) -> list[str]:
    """Return the last non-empty lines of a log."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        text = file.read().decode(errors="replace")
    return [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]


def keep_previous(log: Path) -> None:
    """Rename an existing log to `.1`, so that a fresh log can be written."""
    make_private_directory(log.parent)
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))


def environment(**variables: object) -> Mapping[str, str]:
    """Return environment variables as text."""
    return {name: str(value) for name, value in variables.items()}
