"""Text of Java properties files."""

from __future__ import annotations

from collections.abc import Mapping

_CONTROLS = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def properties_text(properties: Mapping[str, str]) -> str:
    """Return the text of a properties file that Java reads back unchanged."""
    return "".join(f"{_escaped(name, ':=#! ')}={_escaped(value)}\n" for name, value in properties.items())


def _escaped(text: str, also: str = "") -> str:
    """Escape for Java, which reads properties files as ISO 8859-1: non-ASCII characters become UTF-16 escapes."""
    escaped = "".join(_character(character, also) for character in text.replace("\\", "\\\\"))
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _character(character: str, also: str) -> str:
    if character in also:
        return f"\\{character}"
    if character.isascii():
        return _CONTROLS.get(character, character)
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
