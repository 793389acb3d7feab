"""Registry of the classes behind the `type:` values in a pipeline's file."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from penstock.actions.retries import told
from penstock.config.suggest import did_you_mean
from penstock.errors import UsageError


class Kind(NamedTuple):
    """Kind of plugin: name, built-in classes, groups of Python entry points, and required methods."""

    name: str
    builtin: dict[str, str]
    groups: tuple[str, ...]
    methods: tuple[str, ...]

    def entry_points(self) -> dict[str, str]:
        """Return the names and class paths of installed plugins, including DataHub's."""
        found = [entry for group in self.groups for entry in entry_points(group=group)]
        return {entry.name: entry.value for entry in reversed(found)}


ACTIONS = Kind(
    "action",
    {
        "hello_world": "penstock.actions.builtin.hello_world:HelloWorld",
        "log": "penstock.actions.builtin.log:Log",
        "webhook": "penstock.actions.builtin.webhook:Webhook",
        "kafka": "penstock.actions.builtin.kafka:Kafka",
        "sql": "penstock.actions.builtin.sql:Sql",
        "exec": "penstock.actions.builtin.exec:Exec",
    },
    ("penstock.actions", "datahub_actions.action.plugins"),
    ("create", "act"),
)

TRANSFORMERS = Kind(
    "transformer",
    {
        "filter": "penstock.actions.transformers.filter:FilterEvents",
        "set": "penstock.actions.transformers.set:Set",
        "drop": "penstock.actions.transformers.drop:Drop",
        "rename": "penstock.actions.transformers.rename:Rename",
        "map": "penstock.actions.transformers.map:Map",
        "__filter": "penstock.actions.transformers.filter:FilterEvents",
    },
    ("penstock.transformers", "datahub_actions.transformer.plugins"),
    ("create", "transform"),
)

FILTERS = Kind(
    "filter",
    {},
    ("penstock.filters", "datahub_actions.filter.plugins"),
    ("create", "matches"),
)


def find_class(kind: Kind, type_name: str) -> Any:  # noqa: ANN401 - any class with the kind's methods
    """Return the class of a built-in name, an entry point, or a user's `module:Class` (or `module.Class`)."""
    found = _load(kind, type_name)
    missing = [method for method in kind.methods if not callable(getattr(found, method, None))]
    if missing:
        hint = f"a class for {kind.name}s has {', '.join(kind.methods)}; see docs/actions.md"
        raise UsageError(f"{type_name} is no {kind.name}: it lacks {' and '.join(missing)}", hint=hint)
    return found


def _load(kind: Kind, type_name: str) -> Any:  # noqa: ANN401 - as above
    place = kind.builtin.get(type_name, type_name)
    if ":" in place:
        return imported(place)
    installed = kind.entry_points()
    if type_name in installed:
        return imported(installed[type_name])
    if "." in type_name:
        return imported(":".join(type_name.rsplit(".", 1)))
    known = [*kind.builtin, *installed]
    hint = did_you_mean(type_name, known, f"there are {', '.join(known)}, or write module:Class for one of your own")
    raise UsageError(f"there is no {kind.name} of type {type_name}", hint=hint)


def imported(place: str) -> Any:  # noqa: ANN401 - as above
    """Return the object at `module:name`. Raise UsageError if the import fails, whatever the module raises."""
    module_name, _, name = place.partition(":")
    hint = "is it installed, or in a directory that PYTHONPATH names?"
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise UsageError(f"{place} cannot be imported: {error}", hint=hint) from error
    except (Exception, SystemExit) as error:  # a user's module may raise anything; other files must still run
        raise UsageError(f"{place} cannot be imported: {told(error)[1]}", hint="run the module by itself") from error
    if not hasattr(module, name):
        raise UsageError(f"{place}: the module {module_name} has no {name}", hint=hint)
    return getattr(module, name)
