# ruff: noqa: INP001 - a script, not a package
"""Write `constraints.txt` anew: `python scripts/lock_packages.py`.

Every package that `pyproject.toml` asks for, and what those need, with the version that the file has already, or else
the newest one. Delete a line to take a newer version. The hashes are those that the package index announces for all
files of a version that may be installed, so that the file serves several machines.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pip._internal.models.index import PyPI
from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).parent.parent
FILE = ROOT / "constraints.txt"
DATAHUB = ROOT / "tests/integration/datahub/requirements.txt"
"""What the tests with DataHub's package need beside that: its versions are written by hand, its hashes here."""

DATAHUB_HEADER = "# DataHub Actions and what it needs beside constraints.txt, for tests/datahub_package.py.\n"
HEADER = "# Written by scripts/lock_packages.py: every package with the hashes of its files.\n"
PYTHONS = ("py3", "py2.py3", *(f"cp3{minor}" for minor in range(11, 15)))
PLATFORMS = re.compile(r"any|manylinux.*_(x86_64|aarch64)|macosx.*")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
_LINK = re.compile(r'<a\s[^>]*href="([^"]+)#sha256=([0-9a-f]{64})"')
_ABI3 = re.compile(r"cp3(\d+)")
_OLDEST_MINOR = 11

Release = tuple[str, str]
"""A package's name and version."""


def main() -> None:
    """Resolve, look up the hashes, and write the file."""
    releases = resolved(_PIN.findall(FILE.read_text(encoding="utf-8")))
    FILE.write_text(HEADER + "".join(map(locked, releases)), encoding="utf-8")
    datahub = _PIN.findall(DATAHUB.read_text(encoding="utf-8"))
    DATAHUB.write_text(DATAHUB_HEADER + "".join(map(locked, datahub)), encoding="utf-8")


def resolved(pins: Sequence[Release]) -> list[Release]:
    """What is installed for development on a machine that has nothing yet."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *(package for extra in project["project"]["optional-dependencies"].values() for package in extra),
        *project["build-system"]["requires"],
    ]
    with tempfile.TemporaryDirectory() as name:
        constraints, report = Path(name, "pins.txt"), Path(name, "report.json")
        constraints.write_text("".join(f"{package}=={version}\n" for package, version in pins), encoding="utf-8")
        options = ("--dry-run", "--quiet", "--ignore-installed", "--report", str(report))
        run_pip("install", *options, "--constraint", str(constraints), *wanted)
        found = [item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
    return sorted((str(canonicalize_name(item["name"])), item["version"]) for item in found)


def locked(release: Release) -> str:
    """The lines of one package."""
    name, version = release
    hashes = sorted(hashes_of(name, version))
    if not hashes:
        sys.exit(f"{name} {version}: the index announces no file with a hash")
    return f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{found}" for found in hashes) + "\n"


def hashes_of(name: str, version: str) -> set[str]:
    """The hashes of the wheels that fit, or else of the source."""
    wheels, sources = set(), set()
    for file, found in files_of(name):
        if file.endswith(".whl"):
            _, of_version, _, tags = parse_wheel_filename(file)
            fits = any(_fits(tag.interpreter, tag.abi, tag.platform) for tag in tags)
            if str(of_version) == version and fits:
                wheels.add(found)
        elif file.endswith(".tar.gz") and file.removesuffix(".tar.gz").endswith(f"-{version}"):
            sources.add(found)
    return wheels or sources


def files_of(name: str) -> Iterator[tuple[str, str]]:
    """The name and the hash of every file that the index has of a package."""
    request = urllib.request.Request(f"{index_url()}/{name}/", headers={"Accept": "text/html"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - the index that pip uses
        page = answer.read().decode()
    for link, found in _LINK.findall(page):
        yield unquote(urlsplit(link).path.rpartition("/")[2]), found


@cache
def index_url() -> str:
    """The index that pip uses."""
    configured = os.environ.get("PIP_INDEX_URL") or run_pip("config", "get", "global.index-url", check=False).strip()
    return (configured or PyPI.simple_url).rstrip("/")


def run_pip(*words: str, check: bool = True) -> str:
    """What pip prints."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, capture_output=True, text=True, check=check).stdout


def _fits(python: str, abi: str, platform: str) -> bool:
    minor = _ABI3.fullmatch(python)
    of_any_later = abi == "abi3" and minor is not None and int(minor[1]) <= _OLDEST_MINOR
    is_free_threaded = abi.endswith("t")
    return (python in PYTHONS or of_any_later) and not is_free_threaded and PLATFORMS.fullmatch(platform) is not None


if __name__ == "__main__":
    main()
