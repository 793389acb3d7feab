"""Change of the catalog, as stored in the outbox by the merge."""

from __future__ import annotations

from typing import Any

import msgspec

PENSTOCK = "urn:li:corpuser:penstock"
"""Actor of a change if the event names none."""

LOAD = "load"
"""Aspect of a load of a partition."""

_SHORT_NAMES = {"owner": "urn:li:corpuser:", "tag": "urn:li:tag:", "platform": "urn:li:dataPlatform:"}


class Change(msgspec.Struct, frozen=True):
    """Change of an entity's aspect from `before` to `after`; None if there was or is no value.

    The aspects `run` and `load` are not states but occurrences: a job's execution, and a load of a partition. The time
    is in milliseconds.
    """

    id: int
    urn: str
    aspect: str
    before: Any
    after: Any
    time: int
    actor: str | None = None

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Change:
        """Create a change from its row with JSON as text. The JSON of loads is kept raw, because loads are many."""
        number, urn, aspect, before, after, time, actor = row
        if aspect == LOAD:
            return cls(number, urn, aspect, None, msgspec.Raw(after), time, actor)
        return cls(number, urn, aspect, _decoded(before), _decoded(after), time, actor)

    @property
    def stamp(self) -> dict[str, Any]:
        """Return time and actor."""
        return {"time": self.time, "actor": as_urn("owner", self.actor) if self.actor else PENSTOCK}

    @property
    def entity_type(self) -> str:
        """Return the entity type from the URN: `dataset`, `dataJob`."""
        return self.urn.split(":", 3)[2]

    @property
    def name(self) -> str:
        """Return the name from a dataset's URN."""
        return self.urn.partition(",")[2].rpartition(",")[0]

    @property
    def platform(self) -> str:
        """Return the platform from a dataset's URN."""
        return self.urn.partition("(")[2].partition(",")[0]


def _decoded(text: str | None) -> Any:  # noqa: ANN401 - depends on the aspect
    return None if text is None else msgspec.json.decode(text)


def as_urn(kind: str, name: str) -> str:
    """Return the URN of an owner, tag or platform. The name may be a URN or a bare name."""
    return name if name.startswith("urn:") else f"{_SHORT_NAMES[kind]}{name}"
