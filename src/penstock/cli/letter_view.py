"""Display of a dead letter."""

from __future__ import annotations

import json

from penstock.cli.output import lines, out, show_table, text
from penstock.config.printable import printable
from penstock.deadletters.advice import advice
from penstock.deadletters.letter import DeadLetter
from penstock.deadletters.marks import Mark

_MESSAGE = 80
_MARKS = 16 * 1024
_HEX_BYTES = 512
_HEX_ROW = 16


def letter_row(letter: DeadLetter) -> tuple[object, ...]:
    """Return the letter as a row of a list."""
    message = letter.message if len(letter.message) <= _MESSAGE else f"{letter.message[: _MESSAGE - 1]}…"
    return text(letter.failed_at), text(letter.place), text(letter.origin), text(letter.code), text(message)


def show_letter(letter: DeadLetter, mark: Mark | None) -> None:
    """Print a letter: error, advice, and the record."""
    times = f"{mark.times} times, last " if mark and mark.times > 1 else ""
    facts = [
        ("letter", text(letter.place)),
        ("origin", text(letter.origin)),
        ("pipeline", text(letter.pipeline)),
        ("refused", text(letter.failed_at)),
        ("error", f"[bold red]{text(letter.code)}[/] {text(letter.message)}"),
        ("hint", advice(letter.code)),
        ("replayed", f"{times}{text(mark.at)} to {text(mark.to)}" if mark else "never"),
        ("key", _inline(letter.key)),
    ]
    show_table(("", ""), facts)
    show_table(("header", "value"), ((text(name), _inline(value)) for name, value in letter.headers))
    _show_value(letter.value)


def pretty(value: bytes) -> tuple[str, bool]:
    """Format a value, truncated if long, and return whether it is complete.

    JSON is indented, other text is unchanged, and bytes are in hexadecimal.
    """
    try:
        plain = _indented(value.decode())
    except UnicodeDecodeError:
        return _hex(value[:_HEX_BYTES]), len(value) <= _HEX_BYTES
    return "\n".join(map(printable, plain[:_MARKS].splitlines())), len(plain) <= _MARKS


def _show_value(value: bytes | None) -> None:
    if value is None:
        out.print("[dim]no value: a tombstone[/]")
        return
    told, is_whole = pretty(value)
    out.print(f"value, {len(value):,} bytes" + ("" if is_whole else ", of which this is the beginning"))
    out.print(lines(told))


def _indented(plain: str) -> str:
    try:
        return json.dumps(json.loads(plain), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return plain


def _hex(value: bytes) -> str:
    rows = (value[at : at + _HEX_ROW] for at in range(0, len(value), _HEX_ROW))
    return "\n".join(f"{row.hex(' '):<{_HEX_ROW * 3}} {_ascii(row)}" for row in rows)


def _ascii(row: bytes) -> str:
    return "".join(chr(byte) if chr(byte).isprintable() and byte < 0x7F else "." for byte in row)  # noqa: PLR2004 - the end of ASCII


def _inline(value: bytes | None) -> str:
    if value is None:
        return "[dim]-[/]"
    try:
        return text(value.decode())
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
