"""Exact check of JSON messages: find the first field that does not match the shape, and the reason.

The check parses the message again as a variant, which preserves the kind of every value. The check is exact but slow,
and therefore limited to messages that fail the quick checks. Without a finding, the message is valid.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.errors import RecordInvalid, RecordUndecodable
from penstock.spark.decoding import problem
from penstock.spark.json.bindings import let
from penstock.spark.json.escapes import has_half_surrogate
from penstock.spark.json.readings import DIGITS, WIDE, reading_of
from penstock.spark.json.shape import Entries, Items, Leaf, Member, Record, Shape

Path = tuple[str | Column, ...]
"""Path of a value, in pieces. Pieces that differ between messages are columns."""

MARK: Final = f"penstock_end_{secrets.token_hex(8)}"
"""Mark appended to a message to detect whether the parser reached the end.

The mark is random, so no message can contain it.
"""

_SHOWN: Final = 80
_NUMBER: Final = r"^(BIGINT|DECIMAL|DOUBLE|FLOAT)"
_WORDS: Final = ("NaN", "Infinity", "-Infinity")
_NOTHING: Final = None


def json_problem(value: Column, shape: Record, *, unread: Column) -> Column:
    """Return the problem of a message, or null; `unread` states that Spark's parser failed."""
    text = value.cast("string")
    # In an array, only a further item can follow the value, and would take the mark's place.
    whole = F.try_parse_json(F.concat(F.lit("["), text, F.lit(f',"{MARK}"]')))
    not_json = problem(RecordUndecodable.code, F.concat(F.lit("not JSON: "), F.make_valid_utf8(_shortened(text))))
    return (
        F.when(value.isNull(), problem(RecordInvalid.code, F.lit("the value is null")))
        .when(~F.is_valid_utf8(text), not_json)
        .when(has_half_surrogate(text), _half_surrogate(text))
        .otherwise(let(whole, lambda found: _whole_problem(found, shape, not_json, unread)))
    )


def _whole_problem(whole: Column, shape: Record, not_json: Column, unread: Column) -> Column:
    is_json = F.try_variant_get(whole, "$[1]", "string") == MARK
    misfit = let(F.try_variant_get(whole, "$[0]", "variant"), lambda value: _misfit(value, shape, ()))
    unfit = problem(RecordInvalid.code, F.lit("the value does not fit the schema"))
    fitting = let(
        misfit, lambda found: F.when(found.isNotNull(), problem(RecordInvalid.code, found)).when(unread, unfit)
    )
    return F.when(is_json, fitting).otherwise(not_json)


def _half_surrogate(text: Column) -> Column:
    said = F.concat(F.lit("a text has half of a surrogate pair, which is no character: "), _shortened(text))
    return problem(RecordUndecodable.code, said)


def _misfit(value: Column, shape: Shape, path: Path) -> Column:
    """Return why a non-null value does not match the shape, or null if it matches.

    The reason is a text that starts with the path.
    """
    match shape:
        case Leaf(symbols=symbols) if symbols:
            fits = _is_text(value) & _text(value).isin(*symbols)
            return _unless(fits, value, f"one of {', '.join(symbols)}", path)
        case Leaf():
            return _unless(_fits(value, shape), value, _named(shape), path)
        case Items(items=inner, nullable=nullable):
            each = F.transform(_cast(value, "array<variant>"), _item_misfits(inner, path, nullable=nullable))
            return F.coalesce(_unless(_is_kind(value, "ARRAY"), value, "an array", path), _first(each))
        case Entries(values=inner, nullable=nullable):
            entries = F.map_entries(_cast(value, "map<string,variant>"))
            each = F.transform(entries, _entry_misfits(inner, path, nullable=nullable))
            return F.coalesce(_unless(_is_kind(value, "OBJECT"), value, "an object", path), _first(each))
        case Record(members=members):
            each_member = (_member_misfit(value, member, path) for member in members)
            return F.coalesce(_unless(_is_kind(value, "OBJECT"), value, "an object", path), *each_member)


def _member_misfit(value: Column, member: Member, path: Path) -> Column:
    here = (*path, ".", member.name) if path else (member.name,)
    missing = _said(here, F.lit("the field is missing")) if member.required else F.lit(_NOTHING)
    return let(
        F.try_variant_get(value, f"$.{member.name}", "variant"),
        lambda found: F.when(_is_absent(found), missing).otherwise(_misfit(found, member.shape, here)),
    )


def _item_misfits(shape: Shape, path: Path, *, nullable: bool) -> Callable[[Column, Column], Column]:
    return lambda item, index: _item_misfit(item, shape, (*path, "[", index.cast("string"), "]"), nullable=nullable)


def _entry_misfits(shape: Shape, path: Path, *, nullable: bool) -> Callable[[Column], Column]:
    def misfit(entry: Column) -> Column:
        here = (*path, '["', entry.getField("key"), '"]')
        return _item_misfit(entry.getField("value"), shape, here, nullable=nullable)

    return misfit


def _item_misfit(item: Column, shape: Shape, path: Path, *, nullable: bool) -> Column:
    null = F.lit(_NOTHING) if nullable else _said(path, F.lit("the value is null"))
    return F.when(_is_absent(item), null).otherwise(_misfit(item, shape, path))


def _fits(value: Column, leaf: Leaf) -> Column:
    match leaf.type:
        case T.StringType() | T.BooleanType():
            return _is_kind(value, leaf.type.simpleString().upper())
        case T.FloatType() | T.DoubleType():
            is_finite = F.abs(_cast(value, leaf.type.simpleString())) < F.lit(float("inf"))
            return (_is_number(value) & is_finite) | (_is_text(value) & _text(value).isin(*_WORDS))
        case T.DecimalType():
            return (_is_number(value) | _is_text(value)) & reading_of(value, leaf).isNotNull()
        case T.BinaryType():
            return _is_text(value) & ~_text(value).rlike(WIDE)
        case T.DateType() | T.TimestampType() | T.TimestampNTZType():
            is_moment = reading_of(_text(value), leaf).isNotNull()
            return is_moment & (_is_kind(value, "BIGINT") | (_is_text(value) & ~_text(value).rlike(DIGITS)))
        case _:
            return _is_kind(value, "BIGINT") & _cast(value, leaf.type.simpleString()).isNotNull()


def _unless(fits: Column, value: Column, wanted: str, path: Path) -> Column:
    said = _said(path, F.concat(_shortened(F.to_json(value)), F.lit(f" is not {wanted}")))
    return F.when(~F.coalesce(fits, F.lit(False)), said)


def _said(path: Path, text: Column) -> Column:
    pieces = [F.lit(piece) if isinstance(piece, str) else piece for piece in (*path, ": ")] if path else []
    return F.concat(*pieces, text)


def _first(found: Column) -> Column:
    return F.get(F.filter(found, lambda each: each.isNotNull()), F.lit(0))


def _shortened(text: Column) -> Column:
    return F.left(text, F.lit(_SHOWN))


def _is_absent(value: Column) -> Column:
    return value.isNull() | F.is_variant_null(value)


def _is_kind(value: Column, kind: str) -> Column:
    return F.schema_of_variant(value).startswith(kind)


def _is_number(value: Column) -> Column:
    return F.schema_of_variant(value).rlike(_NUMBER)


def _is_text(value: Column) -> Column:
    return _is_kind(value, "STRING")


def _text(value: Column) -> Column:
    return _cast(value, "string")


def _cast(value: Column, kind: str) -> Column:
    return F.try_variant_get(value, "$", kind)


def _named(leaf: Leaf) -> str:
    return {"int": "an int", "bytes": "bytes"}.get(leaf.name, f"a {leaf.name}")
