"""`penstock produce`: send JSON lines as records with a schema."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import IO, Annotated

import typer

from penstock import Producer
from penstock.cli.json_lines import LineReader
from penstock.cli.line_sender import LineSender, Mode
from penstock.cli.options import settings
from penstock.cli.output import counted, err, out
from penstock.cli.rate import RateMeter
from penstock.cli.signals import ends_by_signal
from penstock.config import Settings
from penstock.errors import SchemaNotFound, UsageError
from penstock.kafka.keys import KeyType
from penstock.kafka.producer_options import ProducerOptions
from penstock.schemas import Schema, connect_registry

_FOR_MODE: dict[Mode, ProducerOptions] = {Mode.FIRE: {}, Mode.SYNC: {"linger_ms": 0}, Mode.ASYNC: {}}


class OnError(Enum):
    """Handling of invalid lines."""

    STOP = "stop"
    SKIP = "skip"


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.")],
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="JSON lines; default: standard input.")] = None,
    schema: Annotated[Path | None, typer.Option(help="An Avro schema file, which is registered.")] = None,
    subject: Annotated[str | None, typer.Option(help="The schema's subject; default TOPIC-value.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="A registered version; default the newest.")] = None,
    mode: Annotated[Mode, typer.Option(help="fire: do not wait; sync: one by one; async: told of each.")] = Mode.FIRE,
    key_field: Annotated[str | None, typer.Option(help="The field whose value is the key.")] = None,
    key_type: Annotated[KeyType, typer.Option(help="The key's encoding.")] = "string",
    header: Annotated[list[str], typer.Option(metavar="NAME=VALUE", help="On every record; may be repeated.")] = [],  # noqa: B006 - Typer copies defaults
    on_error: Annotated[OnError, typer.Option(help="What to do about a line that is no record.")] = OnError.STOP,
) -> None:
    """Send JSON lines as records with a schema.

    Dates and times are ISO 8601 text, decimals are numbers or text, and each character of bytes is one byte.

    Example: [bold]penstock produce orders orders.jsonl --schema order.avsc --key-field id[/]
    """
    headers = [_header(item) for item in header]
    if schema and version:
        raise UsageError("--schema and --version name two schemas", hint="leave one of them out")
    with ends_by_signal(), _input(file) as stream:
        avro = Schema.from_file(schema) if schema else _registered(settings(), subject or f"{topic}-value", version)
        producer = Producer(
            topic,
            avro,
            subject=subject,
            register=schema is not None,
            key_type=key_type,
            settings=settings(),
            **_FOR_MODE[mode],
        )
        reader = LineReader(avro, key_field, key_type)
        sender = LineSender(producer, reader, mode, headers, stop=on_error is OnError.STOP)
        _send(sender, producer, stream, file)


def _send(sender: LineSender, producer: Producer, stream: IO[bytes], file: Path | None) -> None:
    meter = RateMeter("sent", file.stat().st_size if file else None)
    try:
        with meter, producer:
            sender.send_all(stream, meter)
    finally:
        delivered = meter.count - len(sender.failed) - len(producer.undelivered)
        refused = f", {counted(len(sender.refused), 'line')} refused" if sender.refused else ""
        out.print(meter.summary(delivered) + refused)
    if sender.refused or sender.failed:
        raise typer.Exit(1)


def _registered(chosen: Settings, subject: str, version: int | None) -> Schema:
    try:
        return connect_registry(chosen).by_version(subject, version or "latest").schema
    except SchemaNotFound as error:
        hint = "name a schema file with --schema, or another of `penstock schemas list` with --subject"
        raise SchemaNotFound(error.message, hint=hint) from error


@contextmanager
def _input(file: Path | None) -> Iterator[IO[bytes]]:
    if file is None:
        if sys.stdin.isatty():
            err.print("[dim]one JSON record a line; Ctrl-D ends[/]")
        yield sys.stdin.buffer
        return
    try:
        stream = file.open("rb")
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}", hint="name a file of JSON lines") from error
    with stream:
        yield stream


def _header(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not (name and equals):
        raise UsageError(f"--header {given}: this is not NAME=VALUE", hint="write --header source=import")
    return name, value
