"""Progress of a pipeline for Kafka's tools: offsets of a consumer group, usually named after the pipeline.

A pipeline's queries read at different speeds; the group has the offsets of the slowest query of each source.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.events.record import GroupName, Offset
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import Offsets, PartitionId, commit_progress, end_offsets

_log = logging.getLogger(__name__)


def slowest(positions: Sequence[Offsets]) -> Offsets:
    """Return the lowest offset of each partition over all queries; skip partitions not known to every query."""
    shared: set[PartitionId] = set.intersection(*(set(each) for each in positions)) if positions else set()
    return {place: Offset(min(each[place] for each in positions)) for place in sorted(shared)}


class GroupProgress:
    """Consumer group progress of a pipeline. An unreachable cluster delays a commit, but never fails a batch."""

    def __init__(self, settings: Settings, group: GroupName) -> None:
        self._settings = settings
        self._group = group
        self._admin: Admin | None = None
        self._committed: Mapping[PartitionId, Offset] = {}

    def commit(self, positions: Iterable[Offsets]) -> None:
        """Commit the slowest query's offsets to the group."""
        offsets = slowest(list(positions))
        if not offsets or offsets == self._committed:
            return
        try:
            commit_progress(self._connected(), self._group, offsets)
        except PenstockError as error:
            _log.warning("the progress of %s is not in its group yet: %s", self._group, error)
        else:
            self._committed = offsets

    def ends(self, places: Iterable[PartitionId]) -> Offsets:
        """Return the current end offsets of partitions; nothing if the cluster does not respond."""
        try:
            return end_offsets(self._connected(), list(places))
        except PenstockError as error:
            _log.warning("the lag of %s is not known: %s", self._group, error)
            return {}

    def _connected(self) -> Admin:
        if self._admin is None:
            self._admin = Admin(self._settings.model_copy(update={"timeout": min(self._settings.timeout, 5.0)}))
        return self._admin
