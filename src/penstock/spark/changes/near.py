"""Predicates that let MERGE skip files and rows without changed keys.

Delta's MERGE sorts the whole table to join the changes, however few they are. A key range avoids reading files. A
sieve, a coarse set of the batch's keys, avoids sorting the rows that were read. Neither ever excludes an affected row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.spark.changes.delta_rows import stored
from penstock.spark.decoding import quoted

_ORDERED: Final = (T.NumericType, T.StringType, T.DateType)
_WHOLE: Final[Mapping[type[T.DataType], int]] = {
    T.ByteType: 2**7 - 1,
    T.ShortType: 2**15 - 1,
    T.IntegerType: 2**31 - 1,
    T.LongType: 2**63 - 1,
}
"""Integer types, with the largest value of each."""

_WORD: Final = 64
_SLOTS_PER_KEY: Final = 8
_MOST_SIEVED: Final = 100_000
"""Above this number of keys, the sieve would take more space in Delta's log than it saves."""
_MOST_SLOTS: Final = 2**20


def near(rows: DataFrame, keys: Sequence[str], most: int) -> list[Column] | None:
    """Return predicates that hold for every target row whose key is in `rows`, or None without rows.

    `most` is an upper limit of the number of keys.
    """
    kind, key = rows.schema[keys[0]].dataType, F.col(quoted(keys[0]))
    slots = F.collect_set(_slot([F.col(quoted(each)) for each in keys], _MOST_SLOTS).cast("int"))
    [(count, low, high, found)] = rows.agg(
        F.count(F.lit(1)),
        # A null is in no range, but may be a key.
        *(F.when(F.count(key) == F.count(F.lit(1)), end(key)).cast("string") for end in (F.min, F.max)),
        slots if most <= _MOST_SIEVED else F.array(),
    ).collect()
    if not count:
        return None
    return [*_range(keys[0], kind, low, high), *([sieve(found, keys)] if found else [])]


def _range(key: str, kind: T.DataType, low: str | None, high: str | None) -> Iterator[Column]:
    """Yield the range of the first key column, by which Delta skips files."""
    if low is None or high is None or not isinstance(kind, _ORDERED):
        return
    ends = coarse(int(low), int(high), _WHOLE[type(kind)]) if type(kind) in _WHOLE else (low, high)
    first, last = (F.lit(end).cast(kind) for end in ends)
    yield stored(key) >= first
    yield stored(key) <= last


def coarse(low: int, high: int, most: int) -> tuple[int, int]:
    """Return a slightly larger range, equal for most batches of a table, because Spark compiles code for each range."""
    step = 10 ** (len(str(high - low)) - 1)
    return max(low // step * step, -most - 1), min(-(-high // step) * step, most)


def sieve(slots: Collection[int], keys: Sequence[str]) -> Column:
    """Return the predicate that a row's key hashes to one of the slots, stored as bits in an array of numbers."""
    size = min(_MOST_SLOTS, max(_WORD, 1 << (_SLOTS_PER_KEY * len(slots) - 1).bit_length()))
    words = [0] * (size // _WORD)
    for slot in slots:
        word, bit = divmod(slot % size, _WORD)
        words[word] |= 1 << bit
    bits = F.from_json(F.lit(f"[{','.join(map(_signed, words))}]"), "array<bigint>")
    own = _slot([stored(key) for key in keys], size)
    word_of_own, bit_of_own = F.shiftright(own, _WORD.bit_length() - 1), own % _WORD
    return F.getbit(F.get(bits, word_of_own.cast("int")), bit_of_own.cast("int")) == 1


def _slot(key: Sequence[Column], size: int) -> Column:
    """Return the slot of a row's key.

    Sizes are powers of two, so a slot of a larger size determines the slot of a smaller size.
    """
    return F.pmod(F.xxhash64(*key), F.lit(size).cast("bigint"))


def _signed(word: int) -> str:
    return str(word - 2**_WORD if word >> (_WORD - 1) else word)
