"""DataHub Actions as a peer: in a virtual environment of its own, made when it is first asked for."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

from penstock.config.settings import default_cache

REQUIREMENT = "acryl-datahub-actions[kafka]==1.7.0.17"
FOLDER = default_cache() / "peers" / "datahub-actions-1.7.0.17"
_INSTALL_SECONDS = 900


def datahub_actions() -> Path | None:
    """The peer's program; None, and a line that says why, where it cannot be had."""
    program = FOLDER / "bin" / "datahub-actions"
    if program.exists():
        return program
    print(f"  installing {REQUIREMENT} into {FOLDER}, once", file=sys.stderr)
    try:
        venv.create(FOLDER, with_pip=True, clear=True)
        pip = [str(FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet", REQUIREMENT]
        subprocess.run(pip, check=True, timeout=_INSTALL_SECONDS)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(FOLDER, ignore_errors=True)
        print(f"  DataHub Actions cannot be had here, so it is not compared with: {error}")
        return None
    return program
