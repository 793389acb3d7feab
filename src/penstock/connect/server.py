"""Which server a capture reads: positions of one server's log mean nothing in that of another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from penstock.config import Settings
from penstock.connect.debezium import SERVER, SERVER_HEADER
from penstock.errors import DatabaseUnfit
from penstock.kafka.admin import Admin
from penstock.kafka.span import newest_span, read_span
from penstock.kafka.topic_state import list_topics

_LOOKED_AT: Final = 5


@dataclass(frozen=True)
class ServerIdentity:
    """A server by its system identifier, which its cluster got when it was made, and the timeline of its log.

    A restore from a dump leads to another system. A failover or a restore of files leads to another timeline, which
    lacks what the old one had after the fork.
    """

    system: str
    timeline: int

    def __str__(self) -> str:
        """Render as settings and headers have it."""
        return f"{self.system}/{self.timeline}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` made; None for anything else."""
        system, _, timeline = text.partition("/")
        return cls(system, int(timeline)) if system.isdecimal() and timeline.isdecimal() else None


def identity_of(settings: Mapping[str, str]) -> ServerIdentity | None:
    """The server for which a connector was registered; None if nobody noted it."""
    return ServerIdentity.parse(settings.get(SERVER, ""))


def is_other(before: ServerIdentity | None, now: ServerIdentity | None) -> bool:
    """Whether these are two systems, so that positions of one mean nothing on the other."""
    return before is not None and now is not None and before.system != now.system


def notice(name: str, before: ServerIdentity | None, now: ServerIdentity | None) -> str:
    """What to know if a capture's server is not the one that it was registered for; nothing if it is."""
    if before is None or now is None or before == now:
        return ""
    if before.system != now.system:
        return (
            f"{name} was captured from another server (system {before.system}, this is {now.system}): positions start "
            "anew, so that mirrors ignore its changes"
        )
    return (
        f"the server of {name} was restored or failed over (timeline {before.timeline}, now {now.timeline}): mirrors "
        "may have changes that it lost"
    )


def refuse_other_server(
    settings: Settings, name: str, prefix: str, registered: ServerIdentity | None, now: ServerIdentity | None
) -> str:
    """Refuse to go on with topics of another server; a notice if only the timeline differs."""
    known = [registered, *noted_in_topics(settings, prefix)]
    others = [before for before in known if is_other(before, now)]
    if others:
        raise DatabaseUnfit(
            notice(name, others[0], now),
            hint="a new server needs a new snapshot into new tables: choose another NAME and other tables in the lake. "
            f"To keep the name: `penstock cdc remove {name} --database URL`, delete the topics {prefix}.* and the "
            "tables in the lake, then add again",
        )
    return next((found for before in known if (found := notice(name, before, now))), "")


def noted_in_topics(settings: Settings, prefix: str) -> Iterator[ServerIdentity]:
    """The servers from which the newest changes of a capture came, by the headers of its topics."""
    with Admin(settings) as admin:
        topics: Collection[str] = [each.name for each in list_topics(admin) if each.name.startswith(f"{prefix}.")]
    if not topics:
        return
    found = set()
    for record in read_span(settings, newest_span(settings, tuple(topics), _LOOKED_AT)):
        for header, value in record.headers:
            if header == SERVER_HEADER and value is not None:
                found.add(value.decode(errors="replace"))
    yield from (identity for text in sorted(found) if (identity := ServerIdentity.parse(text)))
