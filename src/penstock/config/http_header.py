"""Values of HTTP headers, of which some are secrets."""

from __future__ import annotations


def header_value_problem(value: str) -> str | None:
    """Return why a text cannot be the value of a header, without the text; None if it can.

    HTTP clients refuse such a value with an error that quotes it, secret or not.
    """
    if value != value.strip():
        return "begins or ends with a space or a line break"
    if not all(character == "\t" or " " <= character <= "~" for character in value):
        return "has a line break or another character that no HTTP header can have"
    return None
