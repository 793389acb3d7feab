r"""Unpaired surrogates (`\ud800` alone): allowed by JSON's grammar, but not representable in UTF-8."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

_PAIR_OR_BACKSLASH: Final = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF: Final = r"\\u[dD][89a-fA-F]"


def has_half_surrogate(text: Column) -> Column:
    """Return whether a JSON text escapes an unpaired surrogate, which Spark would read as a question mark."""
    may_have = F.contains(text, F.lit(r"\ud")) | F.contains(text, F.lit(r"\uD"))
    # Remove whole pairs and escaped backslashes first: text after an escaped backslash is plain text.
    return may_have & F.regexp_replace(text, _PAIR_OR_BACKSLASH, " ").rlike(_HALF)
