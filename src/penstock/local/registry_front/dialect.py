"""Differences between Confluent's API and Apicurio's implementation, as pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from http.client import responses
from typing import NamedTuple
from urllib.parse import unquote

from penstock.config.yaml_file import Value

PREFERRED = "application/vnd.schemaregistry.v1+json"
_TYPES = (PREFERRED, "application/vnd.schemaregistry+json", "application/json")
_ROOTS = ("compatibility", "config", "exporters", "mode", "schemas", "subjects")
_CODED = 10_000
_LATEST = ("latest", "-1")
_NUMBER = re.compile(r"[1-9][0-9]{0,9}")
_MAX_VERSION = 2**31 - 1
_JAVA_CLASS = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*: ")

NOT_FOUND = 404
INCOMPATIBLE = 409
SCHEMA_NOT_FOUND = 40403
SUBJECT_NOT_FOUND = 40401
NO_SUBJECT_LEVEL = 40408
INVALID_VERSION = 42202


class Fault(NamedTuple):
    """Error in Confluent's format. Five-digit codes start with the HTTP status."""

    code: int
    message: str

    @property
    def status(self) -> int:
        """Return the HTTP status for the code."""
        return self.code // 100 if self.code >= _CODED else self.code

    @property
    def body(self) -> dict[str, Value]:
        """Return the JSON body with exactly two keys, because old clients reject additional keys."""
        return {"error_code": self.code, "message": self.message}


def path_segments(raw_path: bytes) -> list[str]:
    """Split the raw path, then decode the segments: a subject may contain an encoded slash."""
    path = raw_path.partition(b"?")[0].decode("ascii", errors="replace")
    return [unquote(part) for part in path.split("/") if part]


def is_known(segments: list[str]) -> bool:
    """Whether the path belongs to the API. Apicurio never answers some requests for unknown paths."""
    return bool(segments) and segments[0] in _ROOTS


def answer_type(accept: str) -> str:
    """Return the content type accepted by the client; Confluent's own by default."""
    return next((kind for kind in _TYPES if kind in accept), PREFERRED)


def version_place(segments: list[str]) -> int | None:
    """Return the index of the segment with a version, if any."""
    match segments:
        case ["subjects", _, "versions", _, *_]:
            return 3
        case ["compatibility", "subjects", _, "versions", _]:
            return 4
        case _:
            return None


def incompatible(subject: str, reasons: Sequence[str]) -> Fault:
    """Return the error for an incompatible new version."""
    message = f'Schema being registered is incompatible with an earlier schema for subject "{subject}"'
    return Fault(INCOMPATIBLE, f"{message}, details: [{', '.join(reasons)}]")


def is_version(text: str) -> bool:
    """Whether Confluent accepts the text as a version. Apicurio would look up a version with this name."""
    return text in _LATEST or (_NUMBER.fullmatch(text) is not None and int(text) <= _MAX_VERSION)


def fault_of(status: int, body: bytes) -> Fault:
    """Convert Apicurio's error. Its code determines the HTTP status; without a code, the HTTP status serves as code."""
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if isinstance(told, dict) and isinstance(told.get("error_code"), int):
        return Fault(told["error_code"] or status, _JAVA_CLASS.sub("", str(told.get("message", ""))))
    text = body.decode(errors="replace").strip()
    return Fault(status, text or f"HTTP {status} {responses.get(status, '')}")
