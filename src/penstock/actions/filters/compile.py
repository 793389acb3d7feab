"""Compiler of a pipeline's filters, in both of DataHub's forms.

`filter:` accepts `event_type` (a name or a list) and `event` (a map). `filters:` is a list of `{type, config}`, and all
entries must match. The type `event_type` accepts `filter`, a map from event type to `event`, which is a list of maps;
one of the maps must match. Any other type is a user's class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.actions.context import PipelineContext
from penstock.actions.filter import Filter
from penstock.actions.filters.matching import compile_value
from penstock.actions.filters.type_filter import AllOf, Predicate, Predicates, TypeFilter
from penstock.actions.filters.user_filter import UserFilter
from penstock.actions.registry import FILTERS, find_class
from penstock.config.suggest import did_you_mean
from penstock.config.yaml_file import KeyPath
from penstock.errors import ConfigError, Problem, UsageError

Place = Callable[[KeyPath], str]


def dotted(path: KeyPath) -> str:
    """Return the keys joined by dots: the location of a value outside of files."""
    return ".".join(map(str, path))


def compile_filter(
    simple: object = None, several: object = None, place: Place = dotted, ctx: PipelineContext | None = None
) -> Filter:
    """Return the filter of a pipeline's `filter:` and `filters:`, either of which may be None.

    A ConfigError lists every mistake, each located by `place` of its key path. `ctx` is for user filters.
    """
    compiler = _Compiler(place, ctx)
    filters: list[Filter] = [] if simple is None else [_simple(compiler, simple, ("filter",))]
    for index, item in enumerate(compiler.list_of(several, ("filters",))):
        filters.append(_item(compiler, item, ("filters", index)))
    if compiler.problems:
        raise ConfigError(compiler.problems)
    if not filters:
        return TypeFilter({}, otherwise=None)
    return filters[0] if len(filters) == 1 else AllOf(filters)


class _Compiler:
    """Collector of problems during the compilation of filters."""

    def __init__(self, place: Place, ctx: PipelineContext | None) -> None:
        self.ctx = ctx
        self.problems: list[Problem] = []
        self._place = place

    def report(self, path: KeyPath, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self._place(path), f"{dotted(path)}: {message}", hint))

    def mapping(self, value: object, path: KeyPath, known: tuple[str, ...] = ()) -> Mapping[str, object]:
        """Return the value if it is a map, else report a problem. With `known`, also report unknown keys."""
        if not isinstance(value, dict):
            self.report(path, f"must be a map, not {_kind(value)}")
            return {}
        for key in (key for key in value if known and key not in known):
            self.report((*path, key), f"{key} is not a key of a filter", did_you_mean(key, known, ""))
        return value

    def list_of(self, value: object, path: KeyPath) -> list[object]:
        """Return the value if it is a list, else report a problem. None becomes an empty list."""
        if value is None or isinstance(value, list):
            return value or []
        self.report(path, f"must be a list, not {_kind(value)}")
        return []

    def predicate(self, value: object, path: KeyPath) -> Predicate:
        spec = self.mapping(value, path)
        return Predicate(spec, compile_value(spec, path, self.report))


def _simple(compiler: _Compiler, config: object, path: KeyPath) -> TypeFilter:
    given = compiler.mapping(config, path, ("event_type", "event"))
    predicates: Predicates = None
    if given.get("event") is not None:
        predicates = (compiler.predicate(given["event"], (*path, "event")),)
    names = _names(compiler, given.get("event_type"), (*path, "event_type"))
    return TypeFilter({}, predicates) if names is None else TypeFilter(dict.fromkeys(names, predicates))


def _names(compiler: _Compiler, value: object, path: KeyPath) -> list[str] | None:
    if value is None:
        return None
    given = value if isinstance(value, list) else [value]
    names = [name for name in given if isinstance(name, str) and name]
    if not names or len(names) < len(given):
        compiler.report(path, "must be the name of an event type, or a list of names")
    return names


def _item(compiler: _Compiler, item: object, path: KeyPath) -> Filter:
    given = compiler.mapping(item, path, ("type", "config"))
    kind, config = given.get("type"), given.get("config")
    if kind == "event_type":
        return _by_type(compiler, config, (*path, "config"))
    if not isinstance(kind, str):
        compiler.report(path, "needs a type: event_type, or module:Class")
        return TypeFilter({})
    try:
        found = find_class(FILTERS, kind)
    except UsageError as error:
        compiler.report((*path, "type"), error.message, error.hint)
        return TypeFilter({})
    return UserFilter(found, dict(compiler.mapping(config or {}, (*path, "config"))), compiler.ctx)


def _by_type(compiler: _Compiler, config: object, path: KeyPath) -> TypeFilter:
    given = compiler.mapping(config, path, ("filter",))
    if isinstance(config, dict) and "filter" not in given:
        compiler.report(path, "needs filter, a map from event types to what they must be like")
        return TypeFilter({})
    inner = (*path, "filter")
    types = compiler.mapping(given.get("filter", {}), inner)
    return TypeFilter({name: _predicates(compiler, spec, (*inner, name)) for name, spec in types.items()})


def _predicates(compiler: _Compiler, spec: object, path: KeyPath) -> Predicates:
    if spec is None:
        return None
    items = compiler.mapping(spec, path, ("event",)).get("event")
    if items is None:
        return None
    if not isinstance(items, list):
        compiler.report((*path, "event"), f"must be a list of maps, not {_kind(items)}")
        return ()
    return [compiler.predicate(item, (*path, "event", index)) for index, item in enumerate(items)]


def _kind(value: object) -> str:
    return {dict: "a map", list: "a list", str: "text", type(None): "empty"}.get(type(value), type(value).__name__)
