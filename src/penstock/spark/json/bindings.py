"""Local names within a Spark expression."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """Apply `body` to the value, which is computed once even if `body` uses the value several times."""
    return F.get(F.transform(F.array(value), body), F.lit(0))
