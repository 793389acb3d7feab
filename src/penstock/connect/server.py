"""Identity of a capture's server: log positions of different servers are not comparable."""

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
# `source` follows the row. The pattern cannot match inside a row, because quotes in values are escaped.
_POSITION = re.compile(rb'"source":\{[^{}]*"lsn":(\d{1,19})[,}]')


@dataclass(frozen=True)
class ServerIdentity:
    """System identifier of a server, assigned when the cluster was initialized, and timeline of its log.

    Restoring a dump results in a different system. A failover or a restore of files results in a different timeline,
    which lacks the old timeline's changes after the fork.
    """

    system: str
    timeline: int

    def __str__(self) -> str:
        """Render for settings and headers."""
        return f"{self.system}/{self.timeline}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the result of `str`. Return None for any other text."""
        system, _, timeline = text.partition("/")
        return cls(system, int(timeline)) if system.isdecimal() and timeline.isdecimal() else None


@dataclass(frozen=True)
class Here:
    """The database's current server (None if the user may not read it), and the end of its log."""

    server: ServerIdentity | None
    end: int


def identity_of(settings: Mapping[str, str]) -> ServerIdentity | None:
    """Return the server that a connector was registered for; None if unknown."""
    return ServerIdentity.parse(settings.get(SERVER, ""))


def is_other(before: ServerIdentity | None, now: ServerIdentity | None) -> bool:
    """Whether both systems are known and differ. Positions of different systems are not comparable."""
    return before is not None and now is not None and before.system != now.system


def notice(name: str, before: ServerIdentity | None, now: ServerIdentity | None) -> str:
    """Return a warning if a capture's server differs from the registered server; empty otherwise."""
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
    """Servers and highest log position found in the newest changes of a capture's topics."""

    servers: tuple[ServerIdentity, ...] = ()
    position: int = 0


def refuse_other_server(name: str, newest: Newest, registered: ServerIdentity | None, now: Here) -> str:
    """Raise DatabaseUnfit if the topics contain changes of a different server or beyond the log's end.

    Return a warning if only the timeline differs.
    """
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


def refuse_lost_log(name: str, position: int, end: int) -> None:
    """Raise DatabaseUnfit if the topics contain changes beyond the log's end: resent rows would count as older."""
    if position > end:
        raise DatabaseUnfit(
            f"the changes in the topics of {name} have positions beyond the end of the server's log "
            f"({position:,}, it ends at {end:,}): mirrors would ignore rows sent now",
            hint="after a failover, repeat the command once the log has passed that position: "
            f"SELECT pg_current_wal_insert_lsn() - '0/0' > {position}",
        )


def _way_out(name: str) -> str:
    return (
        "a new server needs a new snapshot into new tables: choose another NAME and other tables in the lake. "
        f"To keep the name: `penstock cdc remove {name} --database URL`, delete its topics and its tables in the "
        "lake, then add again"
    )


def newest_changes(settings: Settings, prefix: str) -> Newest:
    """Read the newest changes in the topics of a capture's tables."""
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
    """Return the log position of a JSON change. Return 0 for other formats; only their header identifies the server."""
    found = _POSITION.search(value)
    return int(found[1]) if found else 0
