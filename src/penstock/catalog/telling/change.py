"""A change of the catalog, as the merge leaves it in the outbox."""

from __future__ import annotations

from typing import Any

import msgspec

PENSTOCK = "urn:li:corpuser:penstock"
"""Who changed something, where the event does not say."""

LOAD = "load"
"""The aspect of a load of a partition."""

_SHORT_NAMES = {"owner": "urn:li:corpuser:", "tag": "urn:li:tag:", "platform": "urn:li:dataPlatform:"}


class Change(msgspec.Struct, frozen=True):
    """An aspect of an entity was one thing and is another; None where there was or is nothing.

    The aspects `run` and `load` are no states but happenings: a job's execution, and a load of a partition. The time is
    in milliseconds.
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
        """A change from its row, with JSON as text; loads are many, and what they tell is passed on as it stands."""
        number, urn, aspect, before, after, time, actor = row
        if aspect == LOAD:
            return cls(number, urn, aspect, None, msgspec.Raw(after), time, actor)
        return cls(number, urn, aspect, _decoded(before), _decoded(after), time, actor)

    @property
    def stamp(self) -> dict[str, Any]:
        """When and by whom."""
        return {"time": self.time, "actor": as_urn("owner", self.actor) if self.actor else PENSTOCK}

    @property
    def entity_type(self) -> str:
        """The kind of entity, as its URN says: `dataset`, `dataJob`."""
        return self.urn.split(":", 3)[2]

    @property
    def name(self) -> str:
        """The name in a dataset's URN."""
        return self.urn.partition(",")[2].rpartition(",")[0]

    @property
    def platform(self) -> str:
        """The platform in a dataset's URN."""
        return self.urn.partition("(")[2].partition(",")[0]


def _decoded(text: str | None) -> Any:  # noqa: ANN401 - what the aspect holds
    return None if text is None else msgspec.json.decode(text)


def as_urn(kind: str, name: str) -> str:
    """The URN of an owner, a tag or a platform that may be given by a bare name."""
    return name if name.startswith("urn:") else f"{_SHORT_NAMES[kind]}{name}"
