"""Field types shared by files and settings: human-readable sizes and durations, topic names."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints

from penstock.config.units import parse_duration_ms, parse_size

_KIB = 1024


def _bytes(value: object) -> object:
    return parse_size(value) if isinstance(value, str) else value


def _seconds(value: object) -> object:
    return parse_duration_ms(value) / 1000 if isinstance(value, str) and value[-1:].isalpha() else value


Size = Annotated[int, BeforeValidator(_bytes), Field(ge=_KIB)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
Topic = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
