"""Encoding and decoding, wire format included: our codec against bare fastavro and confluent-kafka's own."""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from time import process_time
from typing import Any, NamedTuple

import fastavro
from _common import SCHEMA, events
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.schemas import AvroCodec, MemoryRegistry, Schema

OF_BARE = 0.90
OF_CONFLUENT = {"encode": 1.5, "decode": 3.0}
ROUNDS = int(os.environ.get("ROUNDS", "5")) * 8
BATCH = 250
HEADER = b"\0\0\0\0\1"

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "version", "type": "int"},
        {"name": "placed_at", "type": "long"},
        {"name": "total", "type": "double"},
        {"name": "weight", "type": "float"},
        {"name": "paid", "type": "boolean"},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SENT"]}},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "coupon", "type": ["null", "string"], "default": None},
        {
            "name": "customer",
            "type": {
                "type": "record",
                "name": "Customer",
                "fields": [
                    {"name": "id", "type": "long"},
                    {"name": "name", "type": "string"},
                    {"name": "email", "type": ["null", "string"]},
                    {"name": "age", "type": ["null", "int"]},
                    {
                        "name": "address",
                        "type": {
                            "type": "record",
                            "name": "Address",
                            "fields": [
                                {"name": name, "type": "string"} for name in ("street", "city", "zip", "country")
                            ],
                        },
                    },
                ],
            },
        },
        {
            "name": "items",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Item",
                    "fields": [
                        {"name": "sku", "type": "string"},
                        {"name": "count", "type": "int"},
                        {"name": "price", "type": "double"},
                    ],
                },
            },
        },
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "attributes", "type": {"type": "map", "values": "string"}},
    ],
}


def orders(count: int = 1000) -> list[dict[str, Any]]:
    """Nested records of 25 fields."""
    return [
        {
            "order_id": f"o-{number:08}",
            "version": number % 7,
            "placed_at": 1_700_000_000_000 + number,
            "total": number * 1.25,
            "weight": 1.5,
            "paid": number % 2 == 0,
            "status": ("NEW", "PAID", "SENT")[number % 3],
            "note": None,
            "coupon": "SPRING" if number % 2 else None,
            "customer": {
                "id": number,
                "name": f"Customer {number}",
                "email": f"c{number}@example.org",
                "age": 20 + number % 50,
                "address": {"street": f"{number} High St", "city": "London", "zip": "N1", "country": "GB"},
            },
            "items": [{"sku": "a-1", "count": 2, "price": 9.5}, {"sku": "b-2", "count": 1, "price": 100.0}],
            "tags": ["new", "gift"],
            "attributes": {"source": "web", "ab": "B"},
        }
        for number in range(count)
    ]


Work = Callable[[Any], Any]


class Contest(NamedTuple):
    """One operation on one kind of record, done in three ways."""

    record: str
    operation: str
    inputs: Sequence[Any]
    ours: Work
    bare: Work
    confluent: Work


def contests(record: str, node: dict[str, Any], records: list[Any]) -> list[Contest]:
    """Encoding and decoding these records; all three make and read the same bytes."""
    parsed, schema = fastavro.parse_schema(json.loads(json.dumps(node))), Schema.from_text(json.dumps(node))
    codec, context = AvroCodec(MemoryRegistry()), SerializationContext("bench", MessageField.VALUE)
    client = SchemaRegistryClient.new_client({"url": "mock://bench"})
    serializer, deserializer = AvroSerializer(client, schema.text), AvroDeserializer(client)

    def bare_encode(value: object) -> bytes:
        stream = BytesIO()
        stream.write(HEADER)
        fastavro.schemaless_writer(stream, parsed, value)
        return stream.getvalue()

    def bare_decode(message: bytes) -> object:
        stream = BytesIO(message)
        stream.read(len(HEADER))
        return fastavro.schemaless_reader(stream, parsed, None)

    encode = codec.encoder("bench-value", schema)
    confluent_encode: Work = lambda value: serializer(value, context)  # noqa: E731 - one of three alike
    confluent_decode: Work = lambda message: deserializer(message, context)  # noqa: E731 - as above
    messages = [encode(value) for value in records]
    for value, message in zip(records, messages, strict=True):
        if not message == bare_encode(value) == confluent_encode(value):
            sys.exit(f"{value} is not encoded alike")
        if not value == codec.decode(message) == bare_decode(message) == confluent_decode(message):
            sys.exit(f"{value} is not decoded alike")
    return [
        Contest(record, "encode", records, encode, bare_encode, confluent_encode),
        Contest(record, "decode", messages, codec.decode, bare_decode, confluent_decode),
    ]


def rate(work: Work, inputs: Sequence[Any]) -> float:
    """How many of the inputs are done in a second of the processor's time."""
    started = process_time()
    for item in inputs:
        work(item)
    return len(inputs) / (process_time() - started)


def run(contest: Contest) -> bool:
    """Measure in many short turns, print the medians, and say whether the goals are met.

    The ratios are medians of the ratios of single turns, in which whatever else the machine does slows all alike.
    """
    turns = []
    for number in range(ROUNDS):
        start = number * BATCH % len(contest.inputs)
        batch = contest.inputs[start : start + BATCH]
        turns.append([rate(work, batch) for work in (contest.ours, contest.bare, contest.confluent)])
    ours, bare, confluent = (statistics.median(column) for column in zip(*turns, strict=True))
    of_bare = statistics.median(turn[0] / turn[1] for turn in turns)
    of_confluent = statistics.median(turn[0] / turn[2] for turn in turns)
    goal = OF_CONFLUENT[contest.operation]
    met = of_bare >= OF_BARE and of_confluent >= goal
    print(
        f"  {contest.record:<22} {contest.operation}  {ours:>9,.0f} {bare:>9,.0f} {confluent:>9,.0f}"
        f"   {of_bare:>5.2f} ({OF_BARE:.2f})  {of_confluent:>6.2f} ({goal:.1f})  {'' if met else 'MISSED'}"
    )
    return met


def main() -> int:
    """Run all four contests; 1 if a goal is missed."""
    print(
        f"  {'records/s':<30}  {'penstock':>9} {'fastavro':>9} {'confluent':>9}   of bare (goal)  of confluent (goal)"
    )
    kinds = [*contests("6 strings", SCHEMA, events()), *contests("25 fields, nested", ORDER, orders())]
    return 1 if [contest for contest in kinds if not run(contest)] else 0


if __name__ == "__main__":
    sys.exit(main())
