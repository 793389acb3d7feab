"""The lake: lookup of tables by name."""

from __future__ import annotations

import json

from penstock.config import Settings
from penstock.config.suggest import did_you_mean
from penstock.errors import TableNotFound
from penstock.lake.delta_table import DeltaLakeTable
from penstock.lake.inventory import TableFiles, TableName, inventory, is_table_name
from penstock.lake.parquet_table import ParquetTable
from penstock.lake.store import Store, open_store
from penstock.lake.table import Table
from penstock.spark.lake.table import INTERNAL, SERVER_NOTE


class Lake:
    """All tables below the setting `lake`, discovered from files without declarations."""

    def __init__(self, settings: Settings) -> None:
        self._store = open_store(settings)

    @property
    def location(self) -> str:
        """Location of the lake."""
        return self._store.location

    def tables(self) -> list[Table]:
        """Return all tables by name."""
        return [_open(self._store, files) for files in inventory(self._store.below()).values()]

    def table(self, name: str) -> Table:
        """Return one table. Raise TableNotFound with the closest name as a hint."""
        return _open(self._store, self._files(name))

    def writers(self, name: str) -> list[str]:
        """Return the queries with state for this table in the lake."""
        return sorted(self._files(name).writers)

    def server(self, name: str) -> str:
        """Return a mirror's recorded server, as `<system identifier>/<timeline>`; empty if not recorded."""
        notes = f"{INTERNAL}/{self._files(name).name}"
        path = f"{notes}/{SERVER_NOTE}"
        if path not in {file.path for file in self._store.below(notes)}:
            return ""
        return str(json.loads(self._store.read(path))["server"])

    def _files(self, name: str) -> TableFiles:
        wanted = TableName(name.strip("/"))
        if is_table_name(wanted):
            near = inventory([*self._store.below(wanted), *self._store.below(f"{INTERNAL}/{wanted}")])
            if wanted in near:
                return near[wanted]
        known = inventory(self._store.below())
        for found, files in known.items():
            if found.lower() == wanted.lower():
                return files
        raise TableNotFound(
            f"there is no table {name} in {self.location}",
            hint=did_you_mean(wanted, known, "`penstock lake tables` shows what is there"),
        )


def _open(store: Store, files: TableFiles) -> Table:
    return DeltaLakeTable(store, files.name) if files.is_delta else ParquetTable(store, files)
