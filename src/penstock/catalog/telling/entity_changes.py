"""DataHub EntityChangeEvents of a change: fields, owners and tags that were added or removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from penstock.catalog.telling.change import LOAD, Change, as_urn

Json = dict[str, Any]

_RUNNING = frozenset({"STARTED", "RUNNING"})
_WAITING = frozenset({"DISABLED", "SUSPENDED", "PAUSED", "QUEUED", "READY", "PREPARING"})
"""States of a waiting job, besides WAIT_FOR_TIME, _DATA and _RESOURCE: neither running nor finished."""


class Meaning(NamedTuple):
    """One event of a change: category, operation, modifier (the affected item) and parameters."""

    category: str
    operation: str
    modifier: str | msgspec.UnsetType = msgspec.UNSET
    parameters: Json | msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class EntityChangeEvent(msgspec.Struct, frozen=True, rename="camel"):
    """Event in the format of DataHub's clients. Unset fields are omitted."""

    entity_type: str
    entity_urn: str
    audit_stamp: Json
    category: str
    operation: str
    modifier: str | msgspec.UnsetType = msgspec.UNSET
    parameters: Json | msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    version: int = 0


def entity_change_events(change: Change) -> list[EntityChangeEvent]:
    """Return the change as EntityChangeEvents. Empty if only details without a category changed."""
    means = _MEANINGS.get(change.aspect)
    return [_event(change, meaning) for meaning in means(change)] if means else []


def _event(change: Change, meaning: Meaning) -> EntityChangeEvent:
    return EntityChangeEvent(change.entity_type, change.urn, change.stamp, *meaning)


def _lifecycle(change: Change) -> Iterator[Meaning]:
    if change.before is None or change.after is None:
        yield Meaning("LIFECYCLE", "CREATE" if change.before is None else "HARD_DELETE")


def _status(change: Change) -> Iterator[Meaning]:
    before, after = (bool(state and state["removed"]) for state in (change.before, change.after))
    if before != after:
        yield Meaning("LIFECYCLE", "SOFT_DELETE" if after else "REINSTATE")


def _schema(change: Change) -> Iterator[Meaning]:
    before, after = (
        {field["path"]: field for field in (state or {"fields": []})["fields"]}
        for state in (change.before, change.after)
    )
    for path in _in_order(before, after):
        if before.get(path) != after.get(path):
            yield _field_change(change, path, before.get(path), after.get(path))


def _field_change(change: Change, path: str, before: Json | None, after: Json | None) -> Meaning:
    urn = f"urn:li:schemaField:({change.urn},{path})"
    field = after or before or {}
    parameters: Json = {"fieldUrn": urn, "fieldPath": path, "nullable": field["nullable"], "type": field["type"]}
    if before and after:
        was = {"nullableBefore": before["nullable"], "typeBefore": before["type"]}
        return Meaning("TECHNICAL_SCHEMA", "MODIFY", urn, {**parameters, **was})
    return Meaning("TECHNICAL_SCHEMA", "ADD" if after else "REMOVE", urn, parameters)


def _owners(change: Change) -> Iterator[Meaning]:
    before, after = (
        {(as_urn("owner", item["owner"]), item["type"]): item for item in state or []}
        for state in (change.before, change.after)
    )
    for owner, kind in _in_order(before, after):
        if ((owner, kind) in before) != ((owner, kind) in after):
            operation = "ADD" if (owner, kind) in after else "REMOVE"
            yield Meaning("OWNER", operation, owner, {"ownerUrn": owner, "ownerType": kind})


def _tags(change: Change) -> Iterator[Meaning]:
    before, after = ({as_urn("tag", tag) for tag in state or []} for state in (change.before, change.after))
    for tag in sorted(before ^ after):
        yield Meaning("TAG", "ADD" if tag in after else "REMOVE", tag, {"tagUrn": tag})


def _deprecation(change: Change) -> Iterator[Meaning]:
    before, after = (bool(state and state["deprecated"]) for state in (change.before, change.after))
    if before != after:
        status = "DEPRECATED" if after else "ACTIVE"
        yield Meaning("DEPRECATION", "MODIFY", status, {"status": status})


def _run(change: Change) -> Iterator[Meaning]:
    status = change.after["status"]
    if status in _RUNNING:
        yield Meaning("RUN", "STARTED", parameters=change.after)
    elif status not in _WAITING and not status.startswith("WAIT_"):
        yield Meaning("RUN", "COMPLETED", parameters=change.after)


def _load(change: Change) -> tuple[Meaning]:
    return (Meaning("RUN", "COMPLETED", parameters=change.after),)


def _in_order(before: Iterable[Any], after: Iterable[Any]) -> list[Any]:
    """Return the current items, followed by the removed items."""
    return list(dict.fromkeys([*after, *before]))


_MEANINGS: dict[str, Callable[[Change], Iterable[Meaning]]] = {
    "datasetKey": _lifecycle,
    "status": _status,
    "schemaMetadata": _schema,
    "ownership": _owners,
    "globalTags": _tags,
    "deprecation": _deprecation,
    "run": _run,
    LOAD: _load,
}
