"""Changes of one batch: summary facts, checks, and the newest change of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import QueryFailed
from penstock.spark.changes.order import ORDER, Place, in_order, position
from penstock.spark.debezium.columns import apart_from
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import quoted
from penstock.spark.internal_names import internal

_LAST: Final = internal("last")


def own(name: str) -> Column:
    """Return the column by name, without a table alias."""
    return F.col(quoted(name))


@dataclass(frozen=True)
class Facts:
    """Summary of a batch, collected in one pass before the batch is written.

    `first` is the lowest log position of the batch, `last_delete` the position of its last deletion. `lifts` is set if
    changes without a commit position arrived together with snapshot rows, `moves` if rows under new keys lack
    unavailable values. If `has_one_key` is false, `keys` is incomplete.
    """

    changes: int
    keys: tuple[str, ...]
    unavailable: frozenset[str]
    truncated: int | None
    deletes: int = 0
    first: Place = (0, 0)
    last_delete: Place = (0, 0)
    lifts: bool = False
    moves: bool = False
    has_one_key: bool = True
    outside: tuple[str, ...] = ()
    """Key columns for which some row has a value outside the range of the column's type."""

    def of_types(self, schema: T.StructType) -> Facts:
        """Return the facts for rows of this schema. Text columns hold any value, so they are removed from `outside`."""
        texts = {field.name for field in schema.fields if isinstance(field.dataType, T.StringType)}
        return replace(self, outside=tuple(key for key in self.outside if key not in texts))

    def identity(self, row: Callable[[str], Column] = own) -> list[Column]:
        """Return the columns that identify a row.

        Infinite and NaN key values are stored as null, so the columns include their text.
        """
        outside = row(CDC).getField("outside")
        return [*map(row, self.keys), *(F.try_element_at(outside, F.lit(key)) for key in self.outside)]

    def told_missing(self, column: T.StructField) -> str | None:
        """Return the name under which `unavailable` lists a column, or None: the column's name or the database's name.

        An unchanged value also stays in the columns for earlier types of the database column.
        """
        names = (column.name, apart_from(column.name, column.dataType))
        return next((name for name in names if name in self.unavailable), None)


def refuse_without_changes(schema: T.StructType, table: str) -> None:
    """Reject rows without change metadata."""
    if CDC not in schema.names:
        raise QueryFailed(
            f"table {table} is made of changes, but the rows have no column {CDC}",
            hint="read a source of `format: debezium`, and keep the column in transforms",
        )


def refuse_keyless(changes: DataFrame, table: str) -> None:
    """Reject changes without a key, because their rows cannot be identified."""
    if not changes.filter(f"{CDC}.op <> 't'").isEmpty():
        raise QueryFailed(
            f"table {table}: the changes have no key, so their rows cannot be told apart",
            hint="give the table a primary key that is neither left out nor masked, or use `mode: log`; "
            "if its key was renamed while changes waited, send the table anew: see docs/cdc.md, Order and repeats",
        )


def refuse_lost_keys(changes: DataFrame, facts: Facts, table: str) -> None:
    """Reject changes if a transform removed a key column."""
    lost = [name for name in facts.keys if name not in changes.columns]
    if lost:
        raise QueryFailed(
            f"table {table}: the rows have no column {', '.join(lost)}, which is of their key",
            hint="keep it in transforms, under any name",
        )


def refuse_own_names(columns: Sequence[str], own_names: Sequence[str], table: str) -> None:
    """Reject a column whose name is reserved by the table, ignoring case."""
    for name in columns:
        if name.lower() in own_names:
            raise QueryFailed(
                f"table {table}: column {name} has the name of a column that the table has for itself",
                hint=f"call it otherwise by a transform: {{type: rename, config: {{columns: {{{name}: my{name}}}}}}}",
            )


def facts_of(changes: DataFrame) -> Facts:
    """Collect the facts of a batch in one pass."""
    [found] = changes.agg(*(column.alias(name) for name, column in _looked_for().items())).collect()
    keys, others = (tuple(found[name] or ()) for name in ("last_keys", "first_keys"))
    first, last_delete = (tuple(found[name] or (0, 0)) for name in ("first", "last_delete"))
    unavailable = (frozenset(found["unavailable"] or ()) & set(changes.columns)) - set(keys)
    return Facts(
        found["changes"],
        keys,
        unavailable,
        found["truncated"],
        found["deletes"],
        first,
        last_delete,
        lifts=bool(found["snapshots"] and found["without_commit"]),
        moves=bool(found["moved"] and unavailable),
        has_one_key=keys == others,
        outside=tuple(sorted(found["outside"])),
    ).of_types(changes.schema)


def _looked_for() -> Mapping[str, Column]:
    op, snapshot, keys, unavailable, outside, commit, lsn = (
        F.col(CDC).getField(name) for name in ("op", "snapshot", "keys", "unavailable", "outside", "commit", "lsn")
    )
    place = F.struct(*position())
    return {
        "changes": F.count(F.lit(1)),
        # Several key definitions in one batch are rare. There is only one if minimum and maximum are equal.
        "first_keys": F.min(F.when(op != "t", keys)),
        "last_keys": F.max(F.when(op != "t", keys)),
        "unavailable": F.array_distinct(F.flatten(F.collect_set(unavailable))),
        "outside": F.array_distinct(F.flatten(F.collect_set(F.array_intersect(F.map_keys(outside), keys)))),
        "snapshots": F.count_if(snapshot),
        "without_commit": F.count_if(commit.isNull() & ~snapshot),
        "moved": F.count_if((op == "c") & (F.size(unavailable) > 0)),
        "truncated": F.max(F.when(op == "t", F.coalesce(lsn, F.lit(0)))),
        "deletes": F.count_if(op == "d"),
        "first": F.min(place),
        "last_delete": F.max(F.when(op == "d", place)),
    }


def by_keys(changes: DataFrame) -> Iterator[tuple[DataFrame, Facts]]:
    """Yield the changes with their facts. If the table's key changed, yield one part per key, oldest first."""
    facts = facts_of(changes)
    if facts.has_one_key:
        yield changes, facts
        return
    op, keys = F.col(CDC).getField("op"), F.col(CDC).getField("keys")
    found = changes.filter(op != "t").groupBy(keys.alias("keys")).agg(F.min(F.struct(*position())).alias("first"))
    for row in found.orderBy("first").collect():
        its_keys = F.array(*map(F.lit, row["keys"])).cast("array<string>")
        part = changes.filter((op == "t") | (keys == its_keys))
        yield part, facts_of(part)


def last_of_each(changes: DataFrame, facts: Facts) -> DataFrame:
    """Return the newest change of each row.

    The newest change may lack a value that was too large to be sent again. The value then comes from the newest change
    that contains it. Values missing from every change stay listed in `unavailable`.
    """
    ordered = in_order(changes.filter(F.col(CDC).getField("op") != "t"), facts.identity(), lifts=facts.lifts)
    plain = {field.name: facts.told_missing(field) for field in changes.schema if field.name not in {*facts.keys, CDC}}
    is_delete = F.col(CDC).getField("op") == "d"
    whole = F.max_by(F.struct(*map(quoted, plain), CDC), ORDER).alias(_LAST)
    filled = [_newest_sent(name, told, is_delete) for name, told in plain.items() if told]
    outside = [each.alias(internal(f"outside {n}")) for n, each in enumerate(facts.identity()[len(facts.keys) :])]
    grouped = ordered.groupBy(*map(quoted, facts.keys), *outside).agg(whole, *filled)
    cells = [_cell(name, told) for name, told in plain.items()]
    return grouped.select(*map(quoted, facts.keys), *cells, _still_missing(plain).alias(CDC))


def is_missing(told: str) -> Column:
    """Whether a change lists a value as unavailable, that is, not sent again."""
    return F.coalesce(F.array_contains(F.col(CDC).getField("unavailable"), told), F.lit(False))


def _newest_sent(name: str, told: str, is_delete: Column) -> Column:
    """Return the newest value that was sent for a column, wrapped in a struct because null is a value too."""
    sent = F.struct(F.col(quoted(name)).alias("sent"))
    return F.max_by(sent, F.when(~is_missing(told) & ~is_delete, F.col(ORDER))).alias(_sent(name))


def _sent(name: str) -> str:
    return internal(f"sent {name}")


def _cell(name: str, told: str | None) -> Column:
    last = F.col(_LAST).getField(name)
    if told is None:
        return last.alias(name)
    missing = F.array_contains(F.col(_LAST).getField(CDC).getField("unavailable"), told)
    return F.when(F.coalesce(missing, F.lit(False)), own(_sent(name)).getField("sent")).otherwise(last).alias(name)


def _still_missing(plain: Mapping[str, str | None]) -> Column:
    """Return the change metadata; `unavailable` lists only columns that no change of the batch contains."""
    cdc = F.col(_LAST).getField(CDC)
    found = [F.when(own(_sent(name)).isNotNull(), F.lit(told)) for name, told in plain.items() if told]
    if not found:
        return cdc
    left = F.array_except(cdc.getField("unavailable"), F.array_compact(F.array(*found)))
    return cdc.withField("unavailable", left)


def renamed_in(told: Column, names: Mapping[str, str]) -> Column:
    """Return change metadata with column names replaced; `names` maps old names to new ones."""
    if not names:
        return told
    anew = F.create_map(*(F.lit(text) for pair in names.items() for text in pair))

    def renamed(name: Column) -> Column:
        return F.coalesce(F.try_element_at(anew, name), name)

    for field in ("keys", "unavailable"):
        told = told.withField(field, F.transform(told.getField(field), renamed))
    return told.withField("outside", F.transform_keys(told.getField("outside"), lambda name, _: renamed(name)))
