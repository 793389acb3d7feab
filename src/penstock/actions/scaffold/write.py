"""Writer of a new action's files. The files work without changes."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from penstock.errors import UsageError

_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")


def write_action(name: str, folder: Path) -> list[Path]:
    """Write an action of this name into the folder, and return the new files. Existing files are never overwritten."""
    module = _module_name(name)
    class_name = "".join(word.capitalize() for word in module.split("_"))
    contents = {folder / _filled(source, module, class_name): text for source, text in _templates()}
    there = [str(path) for path in contents if path.exists()]
    if there:
        raise UsageError(f"{', '.join(there)} is there already", hint="choose another name, or another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in contents.items():
        path.write_text(_filled(text, module, class_name), encoding="utf-8")
    return list(contents)


def _module_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name for an action", hint="lower case, digits and _: notify_owners")
    module = name.replace("-", "_")
    if keyword.iskeyword(module) or find_spec(module) is not None:
        raise UsageError(f"{module} is the name of something in Python already", hint="choose another")
    return module


def _templates() -> list[tuple[str, str]]:
    found = [entry for entry in files(__package__).iterdir() if entry.name.endswith(".in")]
    ordered = sorted(found, key=lambda entry: entry.name)
    return [(entry.name.removesuffix(".in"), entry.read_text(encoding="utf-8")) for entry in ordered]


def _filled(text: str, module: str, class_name: str) -> str:
    return Template(text).substitute(module=module, class_name=class_name)
