"""DataHub's package for tests, in a folder of its own: all other tests show that Penstock does without it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from penstock.config.settings import default_cache

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "tests/integration/datahub/requirements.txt"
_INSTALL_SECONDS = 900


def datahub_folder() -> Path:
    """Return the folder with DataHub's package, to be put on PYTHONPATH; installed once per list of requirements."""
    mark = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = default_cache() / "peers" / f"datahub-{mark}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _install(folder)
    return folder


def datahub_environment(**more: str) -> dict[str, str]:
    """Return the environment of a process in which both DataHub's package and Penstock can be imported."""
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT, datahub_folder())))
    return {**os.environ, "PYTHONPATH": path, "DATAHUB_TELEMETRY_ENABLED": "false", **more}


def _install(folder: Path) -> None:
    """Install beside the folder, then rename: a folder that exists is complete."""
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--require-hashes",
    ]
    subprocess.run([*pip, "--target", str(partial), "-r", str(REQUIREMENTS)], check=True, timeout=_INSTALL_SECONDS)
    partial.rename(folder)
