"""A user's own processor in plain Python, in a module that Spark's workers can import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.catalog.processors.base import RecordProcessor


class NamesOnly(RecordProcessor):
    """The names of events, but for those that it does not want; it fails on one without metadata."""

    columns: ClassVar = ("name", "size")

    def process(self, record: Mapping[str, Any]) -> dict[str, object] | None:
        if record["name"] == "unwanted":
            return None
        return {"name": record["name"], "size": 10 // len(record["metadata"])}
