"""File paths in Delta's log: URI references relative to the table, such as `kind=a%20b/part-0.parquet`.

Writers escape different characters: Spark writes `Zürich` and `a~b` unchanged, delta-rs escapes both. Delta identifies
a file by the text in the log. Code that removes a file must therefore repeat the text, and decode the text only to
open the file.
"""

from __future__ import annotations

import os
import re
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit

_PLAIN: Final = re.compile(r"[A-Za-z0-9_=/.\-]*")
"""Characters left unescaped by every Delta writer."""


def decode(reference: str) -> str:
    """Return the file path of a reference in the log, relative to the table."""
    return os.fsdecode(unquote_to_bytes(reference))


def is_plain(reference: str) -> bool:
    """Return True if all writers spell the reference alike."""
    return _PLAIN.fullmatch(reference) is not None


def is_relative(reference: str) -> bool:
    """Return True if the file is inside the table. A shallow clone refers to files of a different table."""
    return not urlsplit(reference).scheme and not reference.startswith("/") and ".." not in decode(reference).split("/")


def sibling(reference: str, name: str) -> str:
    """Return the reference of a file in the same folder; `name` must be plain."""
    return f"{reference[: reference.rfind('/') + 1]}{name}"
