"""Record the source server of each mirror and history, and report a server change.

Log positions of different servers are not comparable: the table would ignore new changes as old. The check runs outside
the stream and reads a header of the newest changes. `penstock cdc add` configures connectors to write this header.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from penstock.config import Settings
from penstock.connect.debezium import SERVER_HEADER
from penstock.connect.server import ServerIdentity, notice
from penstock.events.record import ConsumerRecord
from penstock.kafka.span import newest_span, read_span
from penstock.spark.files import Files
from penstock.spark.lake.table import SERVER_NOTE, LakeTable

_LOOKED_AT: Final = 5
_log = logging.getLogger(__name__)

Tables = Mapping[str, Sequence[LakeTable]]


class ServerWatch:
    """Compares the servers of the newest changes with the recorded servers. `look` is called periodically."""

    def __init__(self, settings: Settings, tables: Callable[[], Tables], files: Callable[[str], Files]) -> None:
        self._settings = settings
        self._tables = tables
        self._files = files
        self._announced: set[str] = set()

    def look(self) -> None:
        """Record the server of each new table, and report changed servers of known tables."""
        tables = self._tables()
        if not tables:
            return
        newest = read_span(self._settings, newest_span(self._settings, tuple(tables), _LOOKED_AT))
        for topic, server in newest_servers(newest).items():
            for table in tables[topic]:
                self._compare(table, server)

    def _compare(self, table: LakeTable, now: ServerIdentity) -> None:
        files, path = self._files(table.lake), f"{table.internal}/{SERVER_NOTE}"
        noted = files.read(path)
        before = ServerIdentity.parse(json.loads(noted)["server"]) if noted else None
        if before == now:
            return
        # A different system is not recorded, so each driver reports it until its changes go to a different table.
        if before is None or before.system == now.system:
            files.write(path, json.dumps({"server": str(now)}).encode())
        announcement = notice(f"table {table.name}", before, now)
        if announcement and announcement not in self._announced:
            self._announced.add(announcement)
            _log.error("%s; see docs/cdc.md, Another server", announcement)


def newest_servers(records: Iterator[ConsumerRecord]) -> dict[str, ServerIdentity]:
    """Return the server of the newest change per topic, for topics with a server header."""
    found: dict[str, tuple[int, ServerIdentity]] = {}
    for record in records:
        named = next((value for header, value in record.headers if header == SERVER_HEADER and value), b"")
        server = ServerIdentity.parse(named.decode(errors="replace"))
        if server is not None and (record.timestamp or 0) >= found.get(record.topic, (0, server))[0]:
            found[record.topic] = (record.timestamp or 0, server)
    return {topic: server for topic, (_, server) in found.items()}
