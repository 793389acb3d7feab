"""Values of HTTP headers, some of them secret."""

from __future__ import annotations


def header_value_problem(value: str) -> str | None:
    """Return why a text is invalid as a header value, without quoting the text; None if valid.

    HTTP clients reject an invalid value with an error that quotes the value, secret or not.
    """
    if value != value.strip():
        return "begins or ends with a space or a line break"
    if not all(character == "\t" or " " <= character <= "~" for character in value):
        return "has a line break or another character that no HTTP header can have"
    return None
