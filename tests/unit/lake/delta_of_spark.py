"""Delta tables whose log looks as Spark's: paths are URIs that leave every letter beyond ASCII as it is."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

_HIVE = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
"""The characters that Spark escapes in the name of a folder."""

_NULL = "__HIVE_DEFAULT_PARTITION__"
_COLUMNS = (("id", "long"), ("kind", "string"))


def append(table: Path, rows: Sequence[tuple[int, str | None]]) -> None:
    """Commit rows of (id, kind) to a table partitioned by kind: one file for each row, as small batches write them."""
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    version = len(list(log.glob("*.json")))
    actions = [] if version else _head()
    actions += [_add(table, number, kind) for number, kind in rows]
    lines = "\n".join(json.dumps(action, ensure_ascii=False) for action in actions)
    (log / f"{version:020}.json").write_text(lines + "\n", encoding="utf-8")


def folder_of(value: str | None) -> str:
    """The name of a value's folder."""
    name = _HIVE.sub(lambda found: f"%{ord(found[0]):02X}", value) if value else _NULL
    return f"kind={name}"


def _head() -> list[dict[str, Any]]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _COLUMNS]
    about = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["kind"],
        "configuration": {},
        "createdTime": 0,
    }
    return [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": about}]


def _add(table: Path, number: int, kind: str | None) -> dict[str, Any]:
    path = f"{folder_of(kind)}/part-00000-{uuid.uuid4()}.c000.snappy.parquet"
    file = table / path
    file.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": pa.array([number], pa.int64())}), file, compression="snappy")
    stats = {"numRecords": 1, "minValues": {"id": number}, "maxValues": {"id": number}, "nullCount": {"id": 0}}
    return {
        "add": {
            "path": uri(path),
            "partitionValues": {"kind": kind or None},
            "size": file.stat().st_size,
            "modificationTime": time.time_ns() // 1_000_000,
            "dataChange": True,
            "stats": json.dumps(stats),
        }
    }


def uri(path: str) -> str:
    """As java.net.URI writes a path: unlike `quote`, it keeps `~`, other marks, and letters that are not ASCII."""
    plain = "-_.!~*'()&=+$,/;@"
    return "".join(
        char if char in plain or (ord(char) > 127 and char.isprintable()) else quote(char, safe="") for char in path
    )
