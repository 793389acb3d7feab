"""Small files that the parts read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from penstock.errors import LocalError


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a Java properties file that only its owner can read."""
    lines = (f"{_escaped(name, ':= ')}={_escaped(value)}\n" for name, value in properties.items())
    write_private(path, "".join(lines))


def write_private(path: Path, text: str) -> None:
    """Write a whole file, or none at all, that only its owner can read."""
    make_directory(path.parent)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.touch(mode=0o600)
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)


def make_directory(path: Path) -> Path:
    """Make a directory and its parents, unless they are there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalError(
            f"the directory {path} cannot be made: {error.strerror}", hint="name another one, or change its rights"
        ) from error
    return path


def _escaped(text: str, also: str = "") -> str:
    """Java reads properties as ISO 8859-1, with everything else written by its UTF-16 units."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return "".join(f"\\{character}" if character in also else _latin(character) for character in text)


def _latin(character: str) -> str:
    if character.isascii():
        return character
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def installed(package: str) -> Path:
    """The directory of an installed package, found without running the package's code."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise LocalError(f"the package {package} is not installed", hint="install penstock again")
    return Path(spec.submodule_search_locations[0])
