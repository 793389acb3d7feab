r"""Halves of surrogate pairs (`\ud800` alone): JSON's grammar allows them, but no UTF-8 text can hold them."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

_PAIR_OR_BACKSLASH: Final = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF: Final = r"\\u[dD][89a-fA-F]"


def has_half_surrogate(text: Column) -> Column:
    """Return whether a JSON text escapes half of a character, for which Spark would read a question mark."""
    may_have = F.contains(text, F.lit(r"\ud")) | F.contains(text, F.lit(r"\uD"))
    # Whole pairs go first, and escaped backslashes with them: what follows one of these is plain text.
    return may_have & F.regexp_replace(text, _PAIR_OR_BACKSLASH, " ").rlike(_HALF)
