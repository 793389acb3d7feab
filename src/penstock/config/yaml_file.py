"""A YAML file whose values know their line, with `${VAR}` and `${VAR:-default}` filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from penstock.errors import ConfigError, Problem

KeyPath = tuple[str | int, ...]
Scalar = str | int | float | bool | None
Value = Scalar | list["Value"] | dict[str, "Value"]

MAX_FILE_BYTES = 1_000_000
MAX_VALUES = 100_000
MAX_DEPTH = 50

_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True)
class YamlFile:
    """The content of a file, and the line on which each of its values stands."""

    path: Path
    content: dict[str, Value] = field(repr=False)
    lines: Mapping[KeyPath, int] = field(repr=False)

    def place(self, key_path: KeyPath) -> str:
        """Where a value, or else the nearest value around it, stands: `file:line`."""
        while key_path and key_path not in self.lines:
            key_path = key_path[:-1]
        return f"{self.path}:{self.lines.get(key_path, 1)}"


def read_yaml(path: Path, env: Mapping[str, str]) -> YamlFile:
    """Read a file and fill in its variables; a ConfigError lists everything that stands in the way."""
    root, raw = _parsed(path, _text(path))
    if root is None:
        return YamlFile(path, {}, {})
    if not isinstance(raw, dict):
        raise ConfigError([Problem(f"{path}:1", "the file must be a mapping of keys to values")])
    problems: list[Problem] = []
    file = YamlFile(path, _filled(raw, env, problems), dict(_lines(root, ())))
    if problems:
        raise ConfigError([_placed(file, problem) for problem in problems])
    return file


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError([Problem(str(path), f"the file is larger than {MAX_FILE_BYTES} bytes")])
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(str(path), f"the file cannot be read: {error}")]) from error


def _parsed(path: Path, text: str) -> tuple[yaml.Node | None, Value]:
    """The file's node tree, for the lines, and its plain values."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is not None:
            _check_size(root, path)
        return root, loader.construct_document(root) if root is not None else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError([Problem(f"{path}:{line}", f"not YAML: {error.problem}")]) from error
    except yaml.YAMLError as error:
        raise ConfigError([Problem(f"{path}:1", f"not YAML: {error}")]) from error


def _check_size(root: yaml.Node, path: Path) -> None:
    """Aliases let a small file grow without bound, or contain itself: refuse both before building values."""
    for count, (key_path, line) in enumerate(_lines(root, ())):
        if count > MAX_VALUES or len(key_path) > MAX_DEPTH:
            raise ConfigError(
                [Problem(f"{path}:{line}", "too many or too deeply nested values; are aliases at fault?")]
            )


def _lines(node: yaml.Node, key_path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    yield key_path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _lines(value, (*key_path, str(key.value)))
            yield (*key_path, str(key.value)), key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _lines(item, (*key_path, index))


def _filled(raw: dict[str, Value], env: Mapping[str, str], problems: list[Problem]) -> dict[str, Value]:
    return {str(key): _fill(value, (str(key),), env, problems) for key, value in raw.items()}


def _fill(value: Value, key_path: KeyPath, env: Mapping[str, str], problems: list[Problem]) -> Value:
    if isinstance(value, dict):
        return {str(key): _fill(item, (*key_path, str(key)), env, problems) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, (*key_path, index), env, problems) for index, item in enumerate(value)]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _variable(match, key_path, env, problems), value)
    return value


def _variable(match: re.Match[str], key_path: KeyPath, env: Mapping[str, str], problems: list[Problem]) -> str:
    name, default = match["name"], match["default"]
    found = env.get(name) or default
    if found is None:
        hint = f"set it, or write ${{{name}:-a default}}"
        problems.append(Problem(".".join(map(str, key_path)), f"the variable {name} is not set", hint))
        return ""
    return found


def _placed(file: YamlFile, problem: Problem) -> Problem:
    key_path = tuple(int(part) if part.isdigit() else part for part in problem.place.split("."))
    return Problem(file.place(key_path), f"{problem.place}: {problem.message}", problem.hint)
