"""Watch the command lines of this user's processes, as any other user of the machine could."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOOK_SECONDS = 0.02


def command_lines_with(marker: str) -> set[str]:
    """The command lines, of all processes, that contain the marker."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # the process has ended
            continue
        if marker in line:
            found.add(line)
    return found


@contextmanager
def watched_command_lines(marker: str) -> Iterator[set[str]]:
    """Collect the command lines that contain the marker at any time in the block."""
    found: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_SECONDS):
            found.update(command_lines_with(marker))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()
