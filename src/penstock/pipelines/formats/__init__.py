"""Message formats of sources, with a module and a line for each."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.pipelines.formats import avro, debezium, json, raw
from penstock.pipelines.formats.base import Format

FORMATS: Mapping[str, Format] = {
    "json": json.FORMAT,
    "avro": avro.FORMAT,
    "debezium": debezium.FORMAT,
    "raw": raw.FORMAT,
}
