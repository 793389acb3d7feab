"""Folders such as `Event_Type=view/Server_Date=2026-11-16`: the columns and values that can name a folder.

Spark escapes characters that file systems do not accept (`/` becomes `%2F`), and every reader unescapes the name. Null,
empty text and the text `__HIVE_DEFAULT_PARTITION__` share a folder, and all readers read its value as null. Before the
write, an expression detects values that cannot name a folder or would make the table unreadable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import TransformFailed
from penstock.spark.decoding import problem, quoted

NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
"""The value in the name of a folder for rows without a value."""

_LONGEST: Final = 255
"""Maximum bytes of a folder's name on most file systems."""

_LONGEST_PATH: Final = 4095
_LONGEST_KEY: Final = 1024
"""Maximum bytes of a path: on file systems, and in object stores."""

_ROOM_FOR_WORK: Final = 320
"""Bytes reserved in a path for staging: the staging directory, the committer's directory, and the file name."""

_ESCAPED: Final = r"[\x01-\x1f\x7f\"#%'*/:=?\\\\{\[\]^]"
"""Characters that Spark escapes as three characters."""

_FOLDER_TYPES: Final = (T.StringType, T.BooleanType, T.IntegralType, T.DateType, T.DecimalType, T.TimestampType)


def folder_problems(partition_by: Iterable[str], rows: T.StructType) -> Iterator[str]:
    """Yield the reasons why columns cannot partition a table."""
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
    """Replace texts that readers read as null by null: Spark cannot write two values into one folder."""
    texts = [name for name in partition_by if isinstance(rows.schema[name].dataType, T.StringType)]
    return rows.withColumns({name: _or_null(F.col(quoted(name))) for name in texts}) if texts else rows


def _or_null(value: Column) -> Column:
    return F.when(~value.isin("", NO_VALUE), value)


def unreadable(partition_by: Sequence[str], schema: T.StructType) -> Column | None:
    """Return the problem of a row whose folder values only Spark can read from a Delta log; null for a valid row."""
    decimals = [name for name in partition_by if isinstance(schema[name].dataType, T.DecimalType)]
    said = "makes a folder, and readers of Delta other than Spark fail on negative decimals there"
    reasons = [F.when(F.col(quoted(name)) < 0, F.lit(f"column {name} {said}")) for name in decimals]
    return _problem(reasons) if reasons else None


def unnameable(partition_by: Sequence[str], schema: T.StructType, directory: str) -> Column | None:
    """Return the problem of a row whose values cannot name folders in a directory; null for a valid row."""
    if not partition_by:
        return None
    reasons = [reason for name in partition_by for reason in _reasons(name, schema[name].dataType)]
    room = _room(directory)
    if (_LONGEST + 1) * len(partition_by) > room:
        reasons.append(F.when(_path_length(partition_by) > room, F.lit("its folders make too long a path")))
    return _problem(reasons)


def _problem(reasons: Iterable[Column]) -> Column:
    said = F.coalesce(*reasons, F.lit(None).cast("string"))
    return F.when(said.isNotNull(), problem(TransformFailed.code, said))


def _reasons(name: str, data_type: T.DataType) -> Iterator[Column]:
    """Yield the reasons why a value cannot name a folder, as text; null for a valid value."""
    value = F.col(quoted(name))
    match data_type:
        case T.StringType():
            room = _LONGEST - len(name.encode()) - 1
            too_long = (F.octet_length(value) * 3 > room) & (_escaped_length(value) > room)
            # Two texts that are not valid UTF-8 may result in equal folder names.
            strange = F.contains(value, F.lit("\0")) | ~F.is_valid_utf8(value)
            said = f"column {name} makes a folder, but a folder cannot be named "
            yield F.when(
                too_long | strange, F.concat(F.lit(said), F.left(F.make_valid_utf8(value), F.lit(40)), F.lit("..."))
            )
        case T.DateType() | T.TimestampType():
            said = f"column {name} makes a folder, which readers know for the years 1 to 9999 only"
            yield F.when(~F.year(value).between(1, 9999), F.lit(said))


def _room(directory: str) -> int:
    """Return how many bytes the folders of a table may have in total.

    In an object store, the key begins after `s3a://bucket/`.
    """
    scheme, separator, rest = directory.partition("://")
    if separator and scheme != "file":
        return _LONGEST_KEY - len(rest.partition("/")[2].encode()) - _ROOM_FOR_WORK
    return _LONGEST_PATH - len(directory.encode()) - _ROOM_FOR_WORK


def _path_length(partition_by: Sequence[str]) -> Column:
    columns = [F.col(quoted(name)).cast("string") for name in partition_by]
    lengths = (F.coalesce(_escaped_length(column), F.lit(len(NO_VALUE))) for column in columns)
    return reduce(add, lengths, F.lit(sum(len(name.encode()) + 2 for name in partition_by)))


def _escaped_length(value: Column) -> Column:
    return F.octet_length(F.regexp_replace(value, _ESCAPED, "%00"))
