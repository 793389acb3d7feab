"""Table cells for settings of topics and brokers."""

from __future__ import annotations

from penstock.cli.output import text
from penstock.config.units import show_duration, show_size
from penstock.kafka.configs import Setting, Source

_NO_LIMIT = ("-1", "9223372036854775807")
_IN_MILLISECONDS = {".ms": 1, ".seconds": 1000, ".minutes": 60_000, ".hours": 3_600_000}


def value_cell(name: str, value: str | None) -> str:
    """Format the value with its meaning: `604800000 (7d)`."""
    if value is None:
        return "[dim]not set[/]"
    meaning = _meaning(name, value)
    return text(value) + (f" [dim]({meaning})[/]" if meaning else "")


def source_cell(source: Source) -> str:
    """Format the source of the value. Defaults are dimmed."""
    return f"[dim]{source}[/]" if source is Source.DEFAULT else str(source)


def setting_row(setting: Setting) -> tuple[str, str, str]:
    """Return name, value and source as cells."""
    return text(setting.name), value_cell(setting.name, setting.value), source_cell(setting.source)


def _meaning(name: str, value: str) -> str:
    factor = next((factor for unit, factor in _IN_MILLISECONDS.items() if name.endswith(unit)), None)
    is_size = name.endswith(".bytes")
    if (factor or is_size) and value in _NO_LIMIT:
        return "no limit"
    if not value.isdigit() or value == "0":
        return ""
    if factor:
        return show_duration(int(value) * factor)
    return show_size(int(value)) if is_size else ""
