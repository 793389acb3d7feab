"""Loads of datasets, with detection of late and shrunken loads."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, pairwise

from penstock.catalog.database import Connection, Record, streamed

HISTORY = 10
"""Number of previous loads that determine the usual gap between loads."""
LATE_AFTER = 1.5
"""Factor of the usual gap after which the next load is late."""

_SERIES = """
SELECT l.urn, d.name, l.cluster, l.operation_type, l.partition_grain, max(l.log_time) AS last_time,
    (array_agg(l.partition_expr ORDER BY l.log_time DESC))[1] AS last_partition,
    (array_agg(l.record_count ORDER BY l.log_time DESC))[1:2] AS counts,
    (array_agg(l.log_time ORDER BY l.log_time DESC))[1:{history} + 1] AS times
FROM dataset_load_status l JOIN dataset d USING (urn)
WHERE d.status = 'active' AND l.operation_type <> 'delete' AND (%(urn)s::text IS NULL OR l.urn = %(urn)s)
GROUP BY l.urn, d.name, l.cluster, l.operation_type, l.partition_grain
ORDER BY last_time DESC, l.urn
"""

_GRAINS = {"hourly": timedelta(hours=1), "daily": timedelta(days=1), "monthly": timedelta(days=31)}
_SHRUNK = 0.5
_MIN_TIMES = 3


@dataclass(frozen=True)
class Series:
    """Loads of one kind into a dataset: last load, record counts, and the usual gap."""

    urn: str
    name: str
    cluster: str
    operation: str
    grain: str
    last_time: datetime
    last_partition: str
    record_count: int | None
    record_count_before: int | None
    usual_gap: timedelta | None

    def is_late(self, now: datetime) -> bool:
        """Whether the next load is overdue. False if there are too few loads to determine the usual gap."""
        return self.usual_gap is not None and now - self.last_time > self.usual_gap * LATE_AFTER

    @property
    def has_shrunk(self) -> bool:
        """Whether the last load has less than half of the previous load's records."""
        if self.record_count is None or not self.record_count_before:
            return False
        return self.record_count < self.record_count_before * _SHRUNK


@dataclass(frozen=True)
class JudgedSeries(Series):
    """Series judged at a point in time. `late` and `shrunk` indicate problems."""

    late: bool
    shrunk: bool


def loads(
    connection: Connection, urn: str | None = None, *, now: datetime, late: bool = False, limit: int | None = None
) -> list[JudgedSeries]:
    """Return the series of one dataset or of all, newest first. With `late`, only late or shrunken series."""
    with closing(series(connection, urn)) as found:
        judged = (_judged(item, now) for item in found)
        wanted = (item for item in judged if not late or item.late or item.shrunk)
        return list(islice(wanted, limit))


def series(connection: Connection, urn: str | None = None) -> Generator[Series]:
    """Yield the series of one dataset or of all, newest first. Rows are read lazily."""
    with closing(streamed(connection, _SERIES.format(history=HISTORY), {"urn": urn})) as rows:
        for row in rows:
            yield _series(row)


def _series(row: Record) -> Series:
    return Series(
        urn=row["urn"],
        name=row["name"],
        cluster=row["cluster"],
        operation=row["operation_type"],
        grain=row["partition_grain"],
        last_time=row["last_time"],
        last_partition=row["last_partition"],
        record_count=row["counts"][0],
        record_count_before=row["counts"][1] if len(row["counts"]) > 1 else None,
        usual_gap=usual_gap(row["partition_grain"], row["times"]),
    )


def _judged(item: Series, now: datetime) -> JudgedSeries:
    return JudgedSeries(**vars(item), late=item.is_late(now), shrunk=item.has_shrunk)


def usual_gap(grain: str, newest_first: list[datetime]) -> timedelta | None:
    """Return the usual gap between loads: from a known grain, or the median of the last gaps."""
    if grain in _GRAINS:
        return _GRAINS[grain]
    if len(newest_first) < _MIN_TIMES:
        return None
    gaps = sorted(later - earlier for later, earlier in pairwise(newest_first))
    return gaps[len(gaps) // 2]
