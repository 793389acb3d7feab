"""Changes of a shop's orders as Debezium writes them, in Avro, put into topics without a database."""

from __future__ import annotations

import io
import itertools
import json
import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fastavro
from _common import Message

from penstock.config import Settings
from penstock.schemas import Schema
from penstock.schemas.registry import connect_registry

STATES = ("open", "paid", "sent", "cancelled")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
TRAFFIC_CYCLE = 20

KEY = {"type": "record", "name": "Key", "namespace": "shop.public.orders", "fields": [{"name": "id", "type": "long"}]}
ENVELOPE = json.loads(Path(__file__).with_name("orders.avsc").read_text(encoding="utf-8"))
"""As Debezium registers it, with what it knows of the columns."""


class Orders:
    """Writes changes of the table `orders`; positions in the database's log go up with every change."""

    def __init__(self, settings: Settings, topic: str, first_place: int = 1_000_000) -> None:
        registry = connect_registry(settings)
        self._ids = {
            name: registry.register(f"{topic}-{name}", Schema.from_text(json.dumps(schema))).schema_id
            for name, schema in (("key", KEY), ("value", ENVELOPE))
        }
        self._schemas = {name: fastavro.parse_schema(schema) for name, schema in (("key", KEY), ("value", ENVELOPE))}
        self._places = itertools.count(first_place, 100)

    def insert(self, number: int) -> Message:
        """A new row."""
        return self._message("c", number, None, row(number))

    def update(self, number: int, state: str) -> Message:
        """Another state of a row; as the table has only its key for an identity, the row before it is not sent."""
        return self._message("u", number, None, row(number) | {"state": state})

    def delete(self, number: int) -> Message:
        """A row that goes."""
        return self._message("d", number, dict.fromkeys(row(0)) | {"id": number, "customer": 0}, None)

    def _message(
        self, op: str, number: int, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
    ) -> Message:
        value = {"before": before, "after": after, "source": self._source(), "transaction": None, "op": op}
        return Message(self._encoded("key", {"id": number}), self._encoded("value", value))

    def _source(self) -> dict[str, Any]:
        place = next(self._places)
        moment = BEGAN + timedelta(milliseconds=place / 100)
        micros = int(moment.timestamp() * 1_000_000)
        return {
            "version": "3.6.2.Final",
            "connector": "postgresql",
            "name": "shop",
            "ts_ms": micros // 1000,
            "snapshot": "false",
            "db": "shop",
            "sequence": f'["{place - 50}","{place}"]',
            "ts_us": micros,
            "ts_ns": micros * 1000,
            "schema": "public",
            "table": "orders",
            "txId": place // 100,
            "lsn": place,
        }

    def _encoded(self, name: str, value: Mapping[str, Any]) -> bytes:
        target = io.BytesIO(b"\x00" + int(self._ids[name]).to_bytes(4, "big"))
        target.seek(0, io.SEEK_END)
        fastavro.schemaless_writer(target, self._schemas[name], value)
        return target.getvalue()


def row(number: int) -> dict[str, Any]:
    """An order by its number."""
    moment = BEGAN + timedelta(seconds=number % 10_000_000)
    return {
        "id": number,
        "customer": number * 7919 % 100_000,
        "state": STATES[number % 3],
        "total": f"{number % 50_000 / 100:.2f}",
        "ordered_at": moment.isoformat().replace("+00:00", "Z"),
        "note": f"order {number} of customer {number * 7919 % 100_000}",
    }


def traffic(orders: Orders, count: int, rows: int) -> Iterator[Message]:
    """So many changes of a table of so many rows: of twenty, one deletes an old row, three insert, the rest update."""
    dice = random.Random(1)
    new, old = itertools.count(rows), itertools.count()
    for number in range(count):
        match number % TRAFFIC_CYCLE:
            case 0:
                yield orders.delete(next(old))
            case 1 | 2 | 3:
                yield orders.insert(next(new))
            case _:
                yield orders.update(dice.randrange(count // TRAFFIC_CYCLE, rows), dice.choice(STATES))


def rows_after(count: int, rows: int) -> int:
    """How many rows the table has after so many changes."""
    deleted, inserted = count // TRAFFIC_CYCLE, 3 * count // TRAFFIC_CYCLE
    return rows + inserted - deleted
