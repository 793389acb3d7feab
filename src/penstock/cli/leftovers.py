"""Handling of threads left behind by an action, which would keep the process alive."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Collection

from penstock.cli.output import err, text


def end_without(before: Collection[threading.Thread], code: int) -> int:
    """Return the exit code. If threads started since `before` still run, end the process with the code instead."""
    left = [thread.name for thread in threading.enumerate() if not thread.daemon and thread not in before]
    if left:
        err.print(f"[yellow]warning[/] an action left threads behind, which end now: {text(', '.join(left))}")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
