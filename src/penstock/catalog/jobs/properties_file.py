"""Parser of WhereHows' job files: Java properties with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import ConfigError, Problem

MAX_FILE_BYTES = 1_000_000

_ENTRY = re.compile(r"(?P<key>(?:\\.|[^\\=:\s])+)\s*[=:\s]\s*(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SIGNS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True)
class PropertiesFile:
    """Values of a file, with the line of each key."""

    path: Path
    values: Mapping[str, str]
    lines: Mapping[str, int]

    def place(self, key: str) -> str:
        """Return the position of a key as `file:line`, with line 1 for a missing key."""
        return f"{self.path}:{self.lines.get(key, 1)}"


def read_properties(path: Path) -> PropertiesFile:
    """Read a file. Raise ConfigError with every invalid line and every duplicate key."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    problems: list[Problem] = []
    for number, text in _logical_lines(_text(path)):
        entry = _ENTRY.fullmatch(text)
        key = _unescaped(entry["key"]) if entry else text
        if entry is None:
            problems.append(Problem(f"{path}:{number}", f"{text[:80]!r} is no property", "write key=value"))
        elif key in values:
            problems.append(Problem(f"{path}:{number}", f"{key} is given twice", f"first on line {lines[key]}"))
        else:
            values[key], lines[key] = _unescaped(entry["value"].strip()), number
    if problems:
        raise ConfigError(problems)
    return PropertiesFile(path, values, lines)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError([Problem(str(path), f"the file is larger than {MAX_FILE_BYTES:,} bytes")])
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(str(path), f"the file cannot be read: {error}")]) from error


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines joined with their continuations after a backslash, without comments and empty lines."""
    begun: tuple[int, str] | None = None
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip() if begun is None else begun[1] + raw.strip()
        first = number if begun is None else begun[0]
        if begun is None and (not line or line[0] in "#!"):
            continue
        if _is_continued(line):
            begun = (first, line[:-1])
        else:
            begun = None
            yield first, line
    if begun:
        yield begun


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(text: str) -> str:
    def sign(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if code[0] == "u" and len(code) > 1 else _SIGNS.get(code, code)

    return _ESCAPE.sub(sign, text)
