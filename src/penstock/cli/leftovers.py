"""Threads that an action started and left behind, which would keep the process from ending."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Collection

from penstock.cli.output import err, text


def end_without(before: Collection[threading.Thread], code: int) -> int:
    """The exit code; if threads were left behind since `before`, the process ends here, with that code."""
    left = [thread.name for thread in threading.enumerate() if not thread.daemon and thread not in before]
    if left:
        err.print(f"[yellow]warning[/] an action left threads behind, which end now: {text(', '.join(left))}")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
