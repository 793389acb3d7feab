"""What `make` installs: one version of every package, each file by its hash."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKED = (ROOT / "constraints.txt").read_text(encoding="utf-8")
PINS = dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", LOCKED, re.MULTILINE))


def asked_for() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    lists = [project["project"]["dependencies"], project["build-system"]["requires"], *extras]
    return [Requirement(text) for texts in lists for text in texts]


def further(name: str) -> list[Requirement]:
    """What an installed package needs here, without its extras."""
    try:
        texts = requires(name) or []
    except PackageNotFoundError:
        return []
    found = [Requirement(text) for text in texts]
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": ""})]


def test_every_line_is_a_version_with_hashes() -> None:
    lines = [line for line in LOCKED.splitlines() if not line.startswith("#")]
    pin, digest = r"[a-z0-9-]+==[^\s;]+ \\", r"    --hash=sha256:[0-9a-f]{64}( \\)?"
    assert [line for line in lines if not re.fullmatch(f"{pin}|{digest}", line)] == []
    assert "://" not in LOCKED


def test_every_package_is_locked_with_a_version_that_fits() -> None:
    left, seen = asked_for(), set[str]()
    while left:
        wanted = left.pop()
        name = canonicalize_name(wanted.name)
        assert name in PINS, wanted
        assert wanted.specifier.contains(PINS[name], prereleases=True), wanted
        if name not in seen:
            seen.add(name)
            left += further(name)
    assert {"deprecated", "wrapt", "setuptools"} <= PINS.keys()
