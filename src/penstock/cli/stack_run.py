"""Local stack run by this process until stopped, or by a background process."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

import typer

from penstock.cli.options import settings
from penstock.cli.output import err, out, text
from penstock.cli.secure_view import show_users
from penstock.cli.signals import ends_by_signal
from penstock.cli.stack_view import Lines, how_to_reach, how_to_use_s3, live_table, near, parts_table, shown_download
from penstock.config import Settings
from penstock.local.control import refuse_running
from penstock.local.files import make_private_directory
from penstock.local.jars import JarCache
from penstock.local.parts import files_needed
from penstock.local.stack import Stack, StackOptions, addresses_in
from penstock.local.state import PartState, Phase, StackState, read_state

_LOOK_SECONDS = 0.5
_FOLLOW_SECONDS = 0.1


def run_until_stopped(options: StackOptions, chosen: Settings) -> None:
    """Start the stack, show the parts, and stop on Ctrl-C or SIGTERM."""
    fetch_jars(options, chosen)
    began = time.monotonic()
    stack = Stack(options, chosen, on_change=_silent if out.is_terminal else Lines(), notice=_notice)
    with ends_by_signal(), live_table(stack.states):
        stack.start()
        try:
            _tell_ready(stack.addresses(), options, chosen, began)
            out.print("Ctrl-C stops everything")
            while True:
                time.sleep(_LOOK_SECONDS)
                stack.states()
        except KeyboardInterrupt:
            stack.stop()
    out.print("stopped")


def start_in_background(options: StackOptions, chosen: Settings) -> None:
    """Run this command without `--detach` in a new session. Return once the stack is ready."""
    refuse_running(chosen.data)
    fetch_jars(options, chosen)
    began = time.monotonic()
    logs = chosen.data / "logs"
    process = _spawn_again(logs)
    with ExitStack() as undo:
        undo.callback(process.wait)
        undo.callback(process.terminate)
        with ends_by_signal():
            state = _await_running(process, chosen.data)
        undo.pop_all()
    if state is None:
        err.out((logs / "up.err").read_text(encoding="utf-8"), end="")
        raise typer.Exit(process.returncode or 1)
    out.print(parts_table(state.parts))
    _tell_ready(state.addresses, options, chosen, began)
    elsewhere = f" --data {shlex.quote(str(chosen.data))}" if chosen.data != settings().data else ""
    out.print(text(f"`penstock down{elsewhere}` stops everything"))


def fetch_jars(options: StackOptions, chosen: Settings) -> None:
    """Download missing files, with progress."""
    with shown_download() as show:
        JarCache.from_settings(chosen).fetch(files_needed(options), show)


def _spawn_again(logs: Path) -> subprocess.Popen[bytes]:
    make_private_directory(logs)
    words = [word for word in sys.argv[1:] if word != "--detach"]
    with (logs / "up.log").open("wb") as said, (logs / "up.err").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "penstock", *words],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=errors,
            start_new_session=True,
        )


def _await_running(process: subprocess.Popen[bytes], data: Path) -> StackState | None:
    """Wait until the background stack is ready. Return None if the process ended."""

    def its_state() -> StackState | None:
        state = read_state(data)
        return state if state and state.supervisor.pid == process.pid else None

    def its_parts() -> tuple[PartState, ...]:
        state = its_state()
        return state.parts if state else ()

    with live_table(its_parts):
        while process.poll() is None:
            state = its_state()
            if state and state.phase is Phase.RUNNING:
                return state
            time.sleep(_FOLLOW_SECONDS)
    return None


def _tell_ready(addresses: Mapping[str, str], options: StackOptions, chosen: Settings, began: float) -> None:
    out.print(f"[green]ready[/] after {time.monotonic() - began:.1f} s; logs are in {text(near(chosen.data / 'logs'))}")
    if options.s3:
        out.print("so that tables are kept in its S3:")
        _show_lines(how_to_use_s3(chosen.ports.s3))
    if options.secure:
        show_users(chosen.data)
        return
    exports = how_to_reach(addresses, addresses_in(settings()))
    if exports:
        out.print("so that other commands find it:")
    _show_lines(exports)


def _show_lines(lines: Iterable[str]) -> None:
    for line in lines:
        out.print(f"  {text(line)}")


def _notice(line: str) -> None:
    out.print(text(line))


def _silent(_part: PartState) -> None:
    """Do nothing: the live table shows the change."""
