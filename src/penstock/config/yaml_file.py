"""YAML files that record the line of each value, with `${VAR}` and `${VAR:-default}` substituted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import yaml

from penstock.config.yaml_loader import MAX_DEPTH, load
from penstock.errors import ConfigError, Problem

KeyPath = tuple[str | int, ...]
Scalar = str | int | float | bool | None
Value = Scalar | list["Value"] | dict[str, "Value"]

MAX_FILE_BYTES = 1_000_000
MAX_VALUES = 100_000

_MERGE = "<<"
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True)
class YamlFile:
    """The content of a file, and the line of each value.

    `problems` lists non-fatal problems, so that validation can report further problems too: duplicate keys and unset
    variables. `unset` has the key paths of values with unset variables.
    """

    path: Path
    content: dict[str, Value] = field(repr=False)
    lines: Mapping[KeyPath, int] = field(repr=False)
    problems: tuple[Problem, ...] = ()
    unset: frozenset[str] = frozenset()

    def place(self, key_path: KeyPath) -> str:
        """Return the position of a value, or of the nearest enclosing value: `file:line`."""
        while key_path and key_path not in self.lines:
            key_path = key_path[:-1]
        return f"{self.path}:{self.lines.get(key_path, 1)}"

    def with_others(self, found: Iterable[Problem]) -> list[Problem]:
        """Return own problems and `found` by line, except consequences of unset variables."""
        consequences = tuple(f"{name}{end}" for name in self.unset for end in ":. ")
        others = [problem for problem in found if not problem.message.startswith(consequences)]
        return sorted({*self.problems, *others}, key=_line)


def read_yaml(path: Path, env: Mapping[str, str]) -> YamlFile:
    """Read a file and substitute its variables. Raise a ConfigError with every problem."""
    file = read_to_check(path, env)
    if file.problems:
        raise ConfigError(list(file.problems))
    return file


def read_to_check(path: Path, env: Mapping[str, str]) -> YamlFile:
    """Read a file for validation: non-fatal problems are returned in `problems` instead of raised."""
    root, raw, twice = _parsed(path, _text(path))
    if root is None:
        return YamlFile(path, {}, {})
    if not isinstance(raw, dict):
        raise ConfigError([Problem(f"{path}:1", "the file must be a mapping of keys to values")])
    missing: list[_Missing] = []
    file = YamlFile(path, _filled(raw, env, missing), dict(_lines(root, ())))
    unset = [_problem(file, each) for each in missing]
    return replace(file, problems=(*twice, *unset), unset=frozenset(_dotted(each.key_path) for each in missing))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError([Problem(str(path), f"the file is larger than {MAX_FILE_BYTES} bytes")])
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(str(path), f"the file cannot be read: {error}")]) from error


def _parsed(path: Path, text: str) -> tuple[yaml.Node | None, Value, list[Problem]]:
    """Return the node tree (for line numbers), the plain values, and a problem for each duplicate key."""
    try:
        loader, root = load(text)
        if root is None:
            return None, None, []
        _check_size(root, path)
        twice = list(dict.fromkeys(_twice(root, (), path)))  # before construct_document, which resolves `<<`
        return root, loader.construct_document(root), twice
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError([Problem(f"{path}:{line}", f"not YAML: {error.problem}")]) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"not YAML: the character U+{error.character:04X} is not allowed"
        raise ConfigError([Problem(f"{path}:{line}", message)]) from error
    except yaml.YAMLError as error:
        raise ConfigError([Problem(f"{path}:1", f"not YAML: {error}")]) from error


def _check_size(root: yaml.Node, path: Path) -> None:
    """Reject recursive or huge documents before building values: aliases can expand a small file without bound."""
    for count, (key_path, line) in enumerate(_lines(root, ())):
        if count > MAX_VALUES or len(key_path) > MAX_DEPTH:
            raise ConfigError(
                [Problem(f"{path}:{line}", "too many or too deeply nested values; are aliases at fault?")]
            )


def _twice(node: yaml.Node, key_path: KeyPath, path: Path) -> Iterator[Problem]:
    """Yield a problem for each duplicate key of a mapping; PyYAML would silently use the last value."""
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _twice(item, (*key_path, index), path)
    seen: dict[str, int] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        name, line = str(key.value), key.start_mark.line + 1
        if name in seen and name != _MERGE:
            message = f"{_dotted((*key_path, name))}: it stands on line {seen[name]} already"
            yield Problem(f"{path}:{line}", message, "leave one of them out")
        seen.setdefault(name, line)
        yield from _twice(value, (*key_path, name), path)


def _lines(node: yaml.Node, key_path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    yield key_path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _lines(value, (*key_path, str(key.value)))
            yield (*key_path, str(key.value)), key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _lines(item, (*key_path, index))


class _Missing(NamedTuple):
    """An unset variable, and the key path where the variable is used."""

    key_path: KeyPath
    name: str


def _filled(raw: dict[str, Value], env: Mapping[str, str], missing: list[_Missing]) -> dict[str, Value]:
    return {str(key): _fill(value, (str(key),), env, missing) for key, value in raw.items()}


def _fill(value: Value, key_path: KeyPath, env: Mapping[str, str], missing: list[_Missing]) -> Value:
    if isinstance(value, dict):
        return {str(key): _fill(item, (*key_path, str(key)), env, missing) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, (*key_path, index), env, missing) for index, item in enumerate(value)]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _variable(match, key_path, env, missing), value)
    return value


def _variable(match: re.Match[str], key_path: KeyPath, env: Mapping[str, str], missing: list[_Missing]) -> str:
    found = env.get(match["name"]) or match["default"]
    if found is None:
        missing.append(_Missing(key_path, match["name"]))
        return ""
    return found


def _problem(file: YamlFile, missing: _Missing) -> Problem:
    message = f"{_dotted(missing.key_path)}: the variable {missing.name} is not set"
    return Problem(file.place(missing.key_path), message, f"set it, or write ${{{missing.name}:-a default}}")


def _line(problem: Problem) -> tuple[str, int, str]:
    path, _, line = problem.place.rpartition(":")
    return path, int(line) if line.isdigit() else 0, problem.message


def _dotted(key_path: KeyPath) -> str:
    return ".".join(map(str, key_path))
