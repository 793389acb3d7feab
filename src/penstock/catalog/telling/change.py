"""A change of the catalog, as the merge leaves it in the outbox."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

PENSTOCK = "urn:li:corpuser:penstock"
"""Who changed something, where the event does not say."""

_SHORT_NAMES = {"owner": "urn:li:corpuser:", "tag": "urn:li:tag:", "platform": "urn:li:dataPlatform:"}


class Change(msgspec.Struct, frozen=True, dict=True):
    """An aspect of an entity was one thing and is another; None where there was or is nothing.

    The aspects `run` and `load` are no states but happenings: a job's execution, and a load of a partition.
    """

    id: int
    urn: str
    aspect: str
    before: Any
    after: Any
    event_time: datetime
    actor: str | None = None

    @cached_property
    def stamp(self) -> dict[str, Any]:
        """When, in milliseconds, and by whom."""
        return {"time": round(self.event_time.timestamp() * 1000), "actor": as_urn("owner", self.actor or PENSTOCK)}

    @property
    def entity_type(self) -> str:
        """The kind of entity, as its URN says: `dataset`, `dataJob`."""
        return self.urn.split(":")[2]

    @property
    def name(self) -> str:
        """The name in a dataset's URN."""
        return self.urn.partition(",")[2].rpartition(",")[0]

    @property
    def platform(self) -> str:
        """The platform in a dataset's URN."""
        return self.urn.partition("(")[2].partition(",")[0]


def as_urn(kind: str, name: str) -> str:
    """The URN of an owner, a tag or a platform that may be given by a bare name."""
    return name if name.startswith("urn:") else f"{_SHORT_NAMES[kind]}{name}"
