"""Row-by-row comparison of a database table with a mirror.

The database is read in a single snapshot while the mirror keeps changing. Rows changed after the snapshot are ignored.
A missing row may still arrive, so differences count only if they persist for the whole waiting time. Rows are compared
by checksum, bucket by bucket: memory holds a bucket and the reported differences, whatever the number of rows.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.connect.postgres import TableName
from penstock.connect.snapshot import Snapshot, log_end, open_snapshot
from penstock.lake.table import Table
from penstock.pipelines.verify.buckets import BEYOND, COUNT, NONE, SIZE, Buckets, Checksum
from penstock.pipelines.verify.guard import OPEN, Guard
from penstock.pipelines.verify.sides import Key, Row, Side, mirror_rows, side_of, source_rows
from penstock.pipelines.verify.values import Canonical

Rows = Callable[[], Iterable[Row]]

_LOOK_SECONDS = 1.0
_KEPT = 10_000
SHOWN = 20

MISSING = "missing in the lake"
EXTRA = "not in the database"
OTHER = "different"
DOUBLE = "more than once in the lake"
ELSEWHERE = "from another server: its position is beyond the end of the database's log"


@dataclass(frozen=True)
class Difference:
    """Differing row, with the database's and the lake's value of each differing column."""

    key: Key
    problem: str
    columns: Mapping[str, tuple[Canonical, Canonical]] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Result of comparing a table: number of different rows, and details of the first ones.

    `left_out` counts rows missing from the lake where the pipeline filters rows on purpose.
    """

    table: str
    rows: int
    equal: int
    newer: int
    different: int
    differences: tuple[Difference, ...]
    not_compared: tuple[str, ...]
    left_out: int = 0


@dataclass
class _Tally:
    """Counts so far, and problems keyed by the checksum of the row's key."""

    equal: int = 0
    newer: int = 0
    different: int = 0
    left_out: int = 0
    problems: dict[Checksum, str] = field(default_factory=dict)

    def note(self, key: Checksum, problem: str) -> None:
        self.different += 1
        if len(self.problems) < _KEPT:
            self.problems[key] = problem


def verify(
    url: str, table: TableName, open_mirror: Callable[[], Table], patience: float, guard: Guard = OPEN
) -> Verdict:
    """Compare a mirror with its table. Repeat until both agree or `patience` runs out."""
    with open_snapshot(url) as snapshot, TemporaryDirectory(prefix="penstock-verify-") as directory:
        side = side_of(snapshot, table, guard).as_stored(open_mirror())
        source = _checksums(Path(directory), source_rows(snapshot, side))
        deadline = time.monotonic() + patience
        while True:
            mirror = open_mirror()
            # Read the log's end after the mirror: no change of this server can be beyond it.
            found = partial(mirror_rows, mirror, side, snapshot.moment, log_end(url))
            tally = _look(url, source, found, side)
            if not tally.different or time.monotonic() >= deadline:
                differences = tuple(_explained(tally.problems, found, side, snapshot)) if tally.problems else ()
                counts = (source.rows, tally.equal, tally.newer, tally.different)
                return Verdict(str(table), *counts, differences, side.not_compared, tally.left_out)
            time.sleep(_LOOK_SECONDS)


def _look(url: str, source: Buckets, mirror: Rows, side: Side) -> _Tally:
    """Compare once with the mirror's current state."""
    with TemporaryDirectory(prefix="penstock-verify-") as ours, TemporaryDirectory(prefix="penstock-verify-") as later:
        found = _checksums(Path(ours), mirror())
        keys_now = cache(lambda: _keys_now(Path(later), url, side))
        tally = _Tally()
        for number in range(COUNT):
            missing = _compare(source, found, number, tally)
            if not side.guard.passage.keeps_rows:
                tally.left_out += len(missing)
                continue
            still = {key for key, _ in keys_now().pairs(number)} if missing else set()
            # Rows deleted after the snapshot are rightly missing from the lake.
            tally.newer += sum(key not in still for key in missing)
            for key in (key for key in missing if key in still):
                tally.note(key, MISSING)
    return tally


def _keys_now(directory: Path, url: str, side: Side) -> Buckets:
    with open_snapshot(url) as now:
        return _checksums(directory, source_rows(now, side.key_alone))


def _compare(source: Buckets, mirror: Buckets, number: int, tally: _Tally) -> list[Checksum]:
    """Compare one bucket of keys. Return the keys missing from the mirror."""
    theirs = dict(source.pairs(number))
    ours: dict[Checksum, Checksum] = {}
    doubled: set[Checksum] = set()
    for key, row in mirror.pairs(number):
        doubled |= {key} & ours.keys()
        ours[key] = row
    for key, row in ours.items():
        if key in doubled:
            tally.note(key, DOUBLE)
        elif row == BEYOND:
            tally.note(key, ELSEWHERE)
        elif row == NONE:
            tally.newer += 1
        elif row == theirs.get(key):
            tally.equal += 1
        else:
            tally.note(key, OTHER if key in theirs else EXTRA)
    return [key for key in theirs if key not in ours]


def _explained(problems: Mapping[Checksum, str], mirror: Rows, side: Side, snapshot: Snapshot) -> Iterator[Difference]:
    """Yield the differences by key, in the order of the mirror, then of the database. The first ones include values."""
    found: dict[Checksum, Difference] = {}
    ours: dict[Checksum, Row] = {}
    for key, row in _known(mirror(), problems):
        found.setdefault(key, Difference(row.key, problems[key]))
        if problems[key] == OTHER and len(ours) < SHOWN:
            ours[key] = row
    for key, row in _known(source_rows(snapshot, side), problems):
        found.setdefault(key, Difference(row.key, problems[key]))
        if key in ours:
            found[key] = replace(found[key], columns=_columns(side, row, ours[key]))
    yield from found.values()


def _known(rows: Iterable[Row], problems: Mapping[Checksum, str]) -> Iterator[tuple[Checksum, Row]]:
    return ((key, row) for row in rows if (key := _checksum(row.key)) in problems)


def _columns(side: Side, theirs: Row, ours: Row) -> dict[str, tuple[Canonical, Canonical]]:
    pairs = zip(side.columns, theirs.values, ours.values, strict=True)
    return {column.name: (one, other) for column, one, other in pairs if one != other}


def _checksums(directory: Path, rows: Iterable[Row]) -> Buckets:
    buckets = Buckets(directory)
    for row in rows:
        buckets.add(_checksum(row.key), _row_checksum(row))
    return buckets


def _row_checksum(row: Row) -> Checksum:
    if row.is_beyond:
        return BEYOND
    return NONE if row.is_later else _checksum(row.values)


def _checksum(values: tuple[Canonical, ...]) -> Checksum:
    """Return a checksum of values. Length prefixes delimit values, and null differs from the empty text."""
    text = "".join("-" if value is None else f"{len(value)}={value}" for value in values)
    return hashlib.blake2b(text.encode(), digest_size=SIZE).digest()
