"""Folders such as `Event_Type=view/Server_Date=2026-11-16`: which columns and which values can make one.

Spark escapes what file systems do not take (`/` becomes `%2F`), and every reader of such folders undoes it. A null and
an empty text make the same folder, and are both read as null: so it is with everybody who writes folders of this kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.decoding import quoted

_LONGEST: Final = 255
"""How many bytes the name of a folder has at most, on most file systems."""

_ESCAPED: Final = r"[\x01-\x1f\x7f\"#%'*/:=?\\\\{\[\]^]"
"""What Spark writes as three characters."""

_FOLDER_TYPES: Final = (T.StringType, T.BooleanType, T.IntegralType, T.DateType, T.DecimalType, T.TimestampType)


def folder_problems(partition_by: Iterable[str], rows: T.StructType) -> Iterator[str]:
    """Why columns cannot make folders."""
    names = list(partition_by)
    for name in names:
        if name not in rows.names:
            yield f"there is no column {name} to partition by; the rows have {', '.join(rows.names)}"
        elif name.startswith(("_", ".")):
            yield f"column {name} cannot make folders: readers skip names that begin with '_' or '.'"
        elif not isinstance(rows[name].dataType, _FOLDER_TYPES):
            yield f"column {name} is {rows[name].dataType.simpleString()}, which cannot make folders"
    if names and set(names) == set(rows.names):
        yield "every column makes a folder, so nothing is left for the files"


def with_folders(rows: DataFrame, partition_by: Iterable[str]) -> DataFrame:
    """The rows; one whose value is too long for a folder's name fails, as it would in a transform."""
    texts = [name for name in partition_by if isinstance(rows.schema[name].dataType, T.StringType)]
    return rows.withColumns({name: _folder_value(name) for name in texts}) if texts else rows


def _folder_value(name: str) -> Column:
    value, room = F.col(quoted(name)), _LONGEST - len(name.encode()) - 1
    too_long = (F.octet_length(value) * 3 > room) & (_escaped_length(value) > room)
    has_zero = F.contains(value, F.lit("\0"))
    said = F.concat(
        F.lit(f"column {name} makes a folder, but a folder cannot be named "), F.left(value, F.lit(40)), F.lit("...")
    )
    return F.when(too_long | has_zero, F.raise_error(said)).otherwise(value)


def _escaped_length(value: Column) -> Column:
    return F.octet_length(F.regexp_replace(value, _ESCAPED, "%00"))
