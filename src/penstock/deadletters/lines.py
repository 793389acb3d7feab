"""Letters as JSON lines, for repair with any tool and replay from the file.

UTF-8 bytes are written as text, other bytes as `{"base64": …}`. A repaired value may also be plain JSON instead of JSON
inside a text.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.deadletters.letter import DeadLetter, parse_place
from penstock.errors import ConfigError, Problem, UsageError

_MAX_LINE = 64 * 1024 * 1024


def letter_json(letter: DeadLetter) -> dict[str, object]:
    """Return all fields of a letter."""
    return {
        "letter": str(letter.place),
        "origin": str(letter.origin),
        "pipeline": letter.pipeline,
        "code": letter.code,
        "message": letter.message,
        "failed_at": letter.failed_at,
        "key": _told(letter.key),
        "value": _told(letter.value),
        "headers": [[name, _told(value)] for name, value in letter.own_headers],
    }


def read_file(file: Path) -> Iterator[DeadLetter]:
    """Yield the letters of a file. A ConfigError names an invalid line."""
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(_MAX_LINE), b""), 1):
                if line.strip():
                    yield _letter(line, f"{file}:{number}")
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}", hint="write one with show --json") from error


def _letter(line: bytes, place: str) -> DeadLetter:
    try:
        return _from_data(json.loads(line))
    except (ValueError, KeyError, TypeError, binascii.Error, RecursionError) as error:
        reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        hint = "a line is what `penstock deadletters show --json` prints"
        raise ConfigError([Problem(place, f"this is no dead letter: {reason}", hint)]) from error


def _from_data(data: Mapping[str, Any]) -> DeadLetter:
    place, origin = parse_place(data["letter"]), parse_place(data["origin"])
    if place is None or origin is None:
        raise ValueError("letter and origin are TOPIC/PARTITION/OFFSET")
    return DeadLetter(
        place=place,
        origin=origin,
        pipeline=str(data.get("pipeline", "")),
        code=str(data.get("code", "")),
        message=str(data.get("message", "")),
        failed_at=str(data.get("failed_at", "")),
        key=_bytes(data.get("key")),
        value=_bytes(data["value"]),
        headers=tuple((str(name), _bytes(value)) for name, value in data.get("headers", [])),
    )


def _told(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _bytes(told: object) -> bytes | None:
    match told:
        case None:
            return None
        case str():
            return told.encode()
        case {"base64": str(encoded), **more} if not more:
            return base64.b64decode(encoded, validate=True)
        case _:
            return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
