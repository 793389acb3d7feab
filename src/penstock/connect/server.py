"""Which server a capture reads: positions of one server's log mean nothing in that of another one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from penstock.config import Settings
from penstock.connect.debezium import SERVER, SERVER_HEADER
from penstock.errors import DatabaseUnfit
from penstock.kafka.admin import Admin
from penstock.kafka.span import newest_span, read_span
from penstock.kafka.topic_state import list_topics

_LOOKED_AT: Final = 5
# The source comes behind the row, and its text cannot be in a row: quotes in values are escaped there.
_POSITION = re.compile(rb'"source":\{[^{}]*"lsn":(\d{1,19})[,}]')


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


@dataclass(frozen=True)
class Here:
    """The server that a database is on now, as far as its user may know, and the end of its log."""

    server: ServerIdentity | None
    end: int


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


@dataclass(frozen=True)
class Newest:
    """What the newest changes in a capture's topics say: the servers that they are from, and the furthest position."""

    servers: tuple[ServerIdentity, ...] = ()
    position: int = 0


def refuse_other_server(name: str, newest: Newest, registered: ServerIdentity | None, now: Here) -> str:
    """Refuse to go on with topics of another server; a notice if only the timeline differs."""
    known = [registered, *newest.servers]
    others = [before for before in known if is_other(before, now.server)]
    if others:
        raise DatabaseUnfit(notice(name, others[0], now.server), hint=_way_out(name))
    if newest.position > now.end:
        raise DatabaseUnfit(
            f"the changes in the topics of {name} have positions beyond the end of the server's log "
            f"({newest.position:,}, it ends at {now.end:,}): the database was restored or moved, so that mirrors "
            "ignore its changes",
            hint=_way_out(name),
        )
    return next((found for before in known if (found := notice(name, before, now.server))), "")


def _way_out(name: str) -> str:
    return (
        "a new server needs a new snapshot into new tables: choose another NAME and other tables in the lake. "
        f"To keep the name: `penstock cdc remove {name} --database URL`, delete its topics and its tables in the "
        "lake, then add again"
    )


def newest_changes(settings: Settings, prefix: str) -> Newest:
    """Look at the newest changes in the topics of a capture's tables."""
    table = re.compile(rf"{re.escape(prefix)}\..+\..+")
    with Admin(settings) as admin:
        topics = tuple(each.name for each in list_topics(admin) if table.fullmatch(each.name))
    if not topics:
        return Newest()
    servers, position = set(), 0
    for record in read_span(settings, newest_span(settings, topics, _LOOKED_AT)):
        servers |= {
            value.decode(errors="replace") for header, value in record.headers if header == SERVER_HEADER and value
        }
        position = max(position, position_of(record.value or b""))
    found = (ServerIdentity.parse(text) for text in sorted(servers))
    return Newest(tuple(server for server in found if server), position)


def position_of(value: bytes) -> int:
    """The position of a change that is written as JSON; 0 for others, whose header has to do."""
    found = _POSITION.search(value)
    return int(found[1]) if found else 0
