"""Where Confluent's API and Apicurio's version of it differ, as pure functions."""

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
    """An error as Confluent tells it; codes of five digits begin with their HTTP status."""

    code: int
    message: str

    @property
    def status(self) -> int:
        """The HTTP status that goes with the code."""
        return self.code // 100 if self.code >= _CODED else self.code

    @property
    def body(self) -> dict[str, Value]:
        """What the client gets: these two keys only, since old clients refuse others."""
        return {"error_code": self.code, "message": self.message}


def path_segments(raw_path: bytes) -> list[str]:
    """The decoded parts of a path; a subject may contain an encoded slash, so the raw path is split."""
    path = raw_path.partition(b"?")[0].decode("ascii", errors="replace")
    return [unquote(part) for part in path.split("/") if part]


def is_known(segments: list[str]) -> bool:
    """Whether a path is one of the API's; some requests for others Apicurio leaves without any answer."""
    return bool(segments) and segments[0] in _ROOTS


def answer_type(accept: str) -> str:
    """The content type that the client asks for; Confluent's own when it does not say."""
    return next((kind for kind in _TYPES if kind in accept), PREFERRED)


def version_place(segments: list[str]) -> int | None:
    """Which part of the path names a version, if one does."""
    match segments:
        case ["subjects", _, "versions", _, *_]:
            return 3
        case ["compatibility", "subjects", _, "versions", _]:
            return 4
        case _:
            return None


def incompatible(subject: str, reasons: Sequence[str]) -> Fault:
    """The refusal of a new version."""
    message = f'Schema being registered is incompatible with an earlier schema for subject "{subject}"'
    return Fault(INCOMPATIBLE, f"{message}, details: [{', '.join(reasons)}]")


def is_version(text: str) -> bool:
    """Whether Confluent would take it for a version; Apicurio would look for one of that name."""
    return text in _LATEST or (_NUMBER.fullmatch(text) is not None and int(text) <= _MAX_VERSION)


def fault_of(status: int, body: bytes) -> Fault:
    """The error that Apicurio meant: its code decides on the status, and an answer without one gets one."""
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if isinstance(told, dict) and isinstance(told.get("error_code"), int):
        return Fault(told["error_code"] or status, _JAVA_CLASS.sub("", str(told.get("message", ""))))
    text = body.decode(errors="replace").strip()
    return Fault(status, text or f"HTTP {status} {responses.get(status, '')}")
