"""Row by row: which rows of the database the mirror has, has otherwise, or has not.

The database is held at one moment. The mirror goes on, so rows that changed after that moment are left out; what is not
there yet may come, so differences count only when they stay for as long as one waits.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from penstock.connect.postgres import TableName
from penstock.connect.snapshot import Snapshot, SourceColumn, open_snapshot
from penstock.errors import DatabaseUnfit
from penstock.lake.table import Table
from penstock.pipelines.verify.guard import OPEN, Guard
from penstock.pipelines.verify.values import Canonical, from_database, from_lake
from penstock.spark.debezium.columns import base_name

Key = tuple[Canonical, ...]
Digest = bytes

_CDC = "_cdc"
_DELETED = "_deleted"
_LOOK_SECONDS = 1.0
SHOWN = 20


@dataclass(frozen=True)
class Difference:
    """A row that is not the same on both sides: what the database has, and what the lake has, where they differ."""

    key: Key
    problem: str
    columns: Mapping[str, tuple[Canonical, Canonical]] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What came of comparing one table."""

    table: str
    rows: int
    equal: int
    newer: int
    differences: tuple[Difference, ...]
    not_compared: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """What is compared of a table: the columns, of which the first ones are the key, and which of them are hashed."""

    table: TableName
    keys: tuple[str, ...]
    columns: tuple[SourceColumn, ...]
    not_compared: tuple[str, ...]
    guard: Guard

    def theirs(self, column: SourceColumn, text: str | None) -> Canonical:
        """A value of the database, as the mirror ought to have it."""
        if text is not None and self.guard.treatment(column.name) == "hash":
            return self.guard.hashed(text)
        return from_database(column, text)

    def ours(self, column: SourceColumn, row: Mapping[str, Any], places: Sequence[str]) -> Canonical:
        """A value of the mirror, in whichever of these places it is."""
        found = next((row[place] for place in places if row[place] is not None), None)
        if self.guard.treatment(column.name) == "hash":
            return found
        return from_lake(column, found, dict(row[_CDC].get("outside") or ()).get(column.name))


def verify(
    url: str, table: TableName, open_mirror: Callable[[], Table], patience: float, guard: Guard = OPEN
) -> Verdict:
    """Compare a mirror with its table, and look again for as long as it is behind."""
    with open_snapshot(url) as snapshot:
        side = side_of(snapshot, table, guard)
        source = {key: digest for key, digest, _ in _source_rows(snapshot, side)}
        deadline = time.monotonic() + patience
        while True:
            verdict = _compare(side, source, open_mirror(), snapshot.lsn)
            gone = {each.key for each in verdict.differences if each.problem == MISSING}
            verdict = _without_gone(verdict, url, side, gone) if gone else verdict
            if not verdict.differences or time.monotonic() >= deadline:
                return _explained(verdict, snapshot, side, open_mirror())
            time.sleep(_LOOK_SECONDS)


MISSING = "missing in the lake"
EXTRA = "not in the database"
OTHER = "different"


def side_of(snapshot: Snapshot, table: TableName, guard: Guard = OPEN) -> Side:
    """What can be compared of a table."""
    columns, keys = snapshot.columns(table), snapshot.keys(table)
    if not keys:
        raise DatabaseUnfit(f"{table} has no primary key", hint="rows without a key cannot be told apart")
    ordered = sorted(columns, key=lambda column: (column.name not in keys, column.name))
    ordered = [*(next(each for each in columns if each.name == key) for key in keys), *ordered[len(keys) :]]
    reasons = {column.name: guard.reason_against(column) for column in ordered}
    hidden = [key for key in keys if reasons[key]]
    if hidden:
        hint = "rows whose key cannot be compared cannot be told apart"
        raise DatabaseUnfit(f"{table}: {hidden[0]}, a part of the key, is {reasons[hidden[0]]}", hint=hint)
    compared = tuple(column for column in ordered if not reasons[column.name])
    skipped = tuple(f"{name} ({reason})" for name, reason in reasons.items() if reason)
    return Side(table, tuple(keys), compared, skipped, guard)


def _source_rows(snapshot: Snapshot, side: Side) -> Iterator[tuple[Key, Digest, tuple[Canonical, ...]]]:
    for row in snapshot.rows(side.table, side.columns):
        values = tuple(side.theirs(column, text) for column, text in zip(side.columns, row, strict=True))
        yield values[: len(side.keys)], _digest(values), values


def _mirror_rows(mirror: Table, side: Side) -> Iterator[tuple[Key, int, tuple[Canonical, ...]]]:
    """The mirror's rows with the position of each one's last change; deleted ones that stay are left out."""
    names = mirror.schema().names
    places = {column.name: _places(column.name, names, side) for column in side.columns}
    wanted = [name for each in places.values() for name in each] + [name for name in (_CDC, _DELETED) if name in names]
    for batch in _batches(mirror, wanted):
        for row in batch.to_pylist():
            if not row.get(_DELETED):
                values = tuple(side.ours(column, row, places[column.name]) for column in side.columns)
                yield values[: len(side.keys)], row[_CDC]["lsn"] or 0, values


def _places(column: str, names: Sequence[str], side: Side) -> list[str]:
    """Where the mirror has values of a column: under its name, or apart, for types that it had at other times."""
    others = {each.name for each in side.columns} - {column}
    return [name for name in names if column in {name, base_name(name)} and name not in others]


def _batches(mirror: Table, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    rows = mirror.rows(lambda _: list(names))
    yield from rows if isinstance(rows, pa.RecordBatchReader) else rows.to_batches(columns=list(names))


def _compare(side: Side, source: Mapping[Key, Digest], mirror: Table, lsn: int) -> Verdict:
    seen: set[Key] = set()
    equal = newer = 0
    differences: list[Difference] = []
    for key, position, values in _mirror_rows(mirror, side):
        seen.add(key)
        if position >= lsn:
            newer += 1
        elif key not in source:
            differences.append(Difference(key, EXTRA))
        elif source[key] == _digest(values):
            equal += 1
        else:
            differences.append(Difference(key, OTHER))
    differences += [Difference(key, MISSING) for key in source if key not in seen]
    return Verdict(str(side.table), len(source), equal, newer, tuple(differences), side.not_compared)


def _without_gone(verdict: Verdict, url: str, side: Side, missing: set[Key]) -> Verdict:
    """Rows that the lake lacks because they were deleted after the moment are no difference."""
    with open_snapshot(url) as now:
        still = {key for key, _, _ in _source_rows(now, replace(side, columns=side.columns[: len(side.keys)]))}
    left = tuple(each for each in verdict.differences if each.key not in missing or each.key in still)
    return replace(verdict, differences=left, newer=verdict.newer + len(verdict.differences) - len(left))


def _explained(verdict: Verdict, snapshot: Snapshot, side: Side, mirror: Table) -> Verdict:
    """The differences, the first of them with the columns that differ."""
    wanted = {each.key for each in verdict.differences[:SHOWN] if each.problem == OTHER}
    if not wanted:
        return verdict
    theirs = {key: values for key, _, values in _source_rows(snapshot, side) if key in wanted}
    ours = {key: values for key, _, values in _mirror_rows(mirror, side) if key in wanted}
    return replace(verdict, differences=tuple(_detailed(each, side, theirs, ours) for each in verdict.differences))


def _detailed(each: Difference, side: Side, theirs: Mapping[Key, Any], ours: Mapping[Key, Any]) -> Difference:
    if each.key not in theirs or each.key not in ours:
        return each
    pairs = zip(side.columns, theirs[each.key], ours[each.key], strict=True)
    return replace(each, columns={column.name: (one, other) for column, one, other in pairs if one != other})


def _digest(values: tuple[Canonical, ...]) -> Digest:
    """A checksum of a row, in which null is not the empty text."""
    text = "\x1f".join("\x00" if value is None else f"={value}" for value in values)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
