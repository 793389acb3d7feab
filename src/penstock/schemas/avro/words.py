"""How messages about schemas and records show values and names."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.config.suggest import did_you_mean

_SHOWN = 60


def shown(value: object) -> str:
    """A value as messages show it, cut when long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def meant(name: str, known: Iterable[str]) -> str:
    """`; did you mean x?` if one of the known names looks like this one."""
    suggestion = did_you_mean(name, known, "")
    return f"; {suggestion}" if suggestion else ""
