from __future__ import annotations

import datetime as dt
import math
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import RecordInvalid, RecordUndecodable, SchemaNotFound
from penstock.schemas import AvroCodec, IdWidth, MemoryRegistry, Schema
from penstock.schemas.avro.compiled import UNSURE, compile_writer
from penstock.schemas.avro.plain import write_plainly
from penstock.schemas.wire import header
from tests.unit.schemas.strategies import (
    LOGICAL_VALUES,
    PRIMITIVE_VALUES,
    same,
    schemas,
    values,
    whole_millis,
)

WIDTHS = pytest.mark.parametrize("width", IdWidth)


@WIDTHS
@given(st.data())
def test_records_come_back_equal_unless_several_branches_of_a_union_could_take_them(
    width: IdWidth, data: st.DataObject
) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    codec = AvroCodec(MemoryRegistry(), width=width)
    assert same(codec.decode(encoded(codec, schema, value)), value)


@given(st.data())
def test_compiled_writers_write_the_same_bytes_as_fastavro(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    write = compile_writer(schema.type)
    assume(write is not None)
    with suppress(*UNSURE):
        assert write(value) == write_plainly(value, schema.type)


ANYTHING = st.recursive(
    st.one_of(
        *PRIMITIVE_VALUES.values(),
        *LOGICAL_VALUES.values(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.sampled_from(["A", "2020-01-01", "1.5", "\ud800", 2**31, 2**53 + 1, 2**63, 1e300, b"ab", ()]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.sampled_from(["f0", "f1", "again"]), st.integers()), inner, max_size=3),
    ),
    max_leaves=6,
)


def means_the_same(given: Any, decoded: Any) -> bool:
    """Whether a decoded value is what was given, in the form its type has."""
    if isinstance(given, tuple) and isinstance(decoded, list):
        return means_the_same(list(given), decoded)
    if isinstance(given, tuple):
        return len(given) == 2 and means_the_same(given[1], decoded)
    if isinstance(given, dict) and isinstance(decoded, dict):
        left_out = decoded.keys() - given.keys()
        return all(decoded[key] is None for key in left_out) and all(
            means_the_same(given[key], decoded[key]) for key in given
        )
    if isinstance(given, list) and isinstance(decoded, list):
        return len(given) == len(decoded) and all(map(means_the_same, given, decoded))
    return _scalar_means_the_same(given, decoded)


def _scalar_means_the_same(given: Any, decoded: Any) -> bool:
    if isinstance(given, bool) or isinstance(decoded, bool):
        return given is decoded
    if isinstance(given, int | float) and isinstance(decoded, float):
        return math.isnan(given) if math.isnan(decoded) else math.isclose(given, decoded, rel_tol=1e-6, abs_tol=1e-38)
    if isinstance(given, int) and isinstance(decoded, dt.date | dt.time):
        return True
    if isinstance(given, dt.datetime | dt.time) and isinstance(decoded, type(given)):
        return decoded in {given, whole_millis(given)}
    if isinstance(given, str) and isinstance(decoded, UUID):
        return UUID(given) == decoded
    return type(given) is type(decoded) and bool(given == decoded)


@given(st.data())
def test_whatever_is_given_is_refused_by_its_place_or_comes_back_with_the_same_meaning(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(ANYTHING)
    codec = AvroCodec(MemoryRegistry())
    with suppress(RecordInvalid):
        message = codec.encoder("subject", schema)(value)
        assert means_the_same(value, codec.decode(message))


@given(st.data(), st.binary(max_size=60))
def test_random_bytes_give_a_value_or_a_typed_error(data: st.DataObject, body: bytes) -> None:
    codec = AvroCodec(MemoryRegistry())
    codec.encoder("subject", data.draw(schemas()))
    decoded_or_refused(codec, header(1, IdWidth.INT) + body)
    decoded_or_refused(codec, body)


@WIDTHS
@given(st.data())
def test_a_damaged_message_gives_a_value_or_a_typed_error(width: IdWidth, data: st.DataObject) -> None:
    schema = data.draw(schemas())
    codec = AvroCodec(MemoryRegistry(), width=width)
    message = bytearray(encoded(codec, schema, data.draw(values(schema))))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(width.body, len(message)))
        match data.draw(st.sampled_from(["change", "cut", "add"])):
            case "change":
                message[place : place + 1] = data.draw(st.binary(min_size=1, max_size=9))
            case "cut":
                del message[place : place + data.draw(st.integers(1, 9))]
            case "add":
                message[place:place] = data.draw(st.binary(min_size=1, max_size=9))
    decoded_or_refused(codec, bytes(message))


@WIDTHS
@given(st.data())
def test_a_message_cut_short_or_made_longer_is_refused(width: IdWidth, data: st.DataObject) -> None:
    schema = data.draw(schemas().filter(lambda schema: schema.text != '"bytes"'))
    codec = AvroCodec(MemoryRegistry(), width=width)
    message = encoded(codec, schema, data.draw(values(schema)))
    if len(message) > width.body:
        with pytest.raises(RecordUndecodable):
            codec.decode(message[: data.draw(st.integers(width.body, len(message) - 1))])
    with pytest.raises(RecordUndecodable):
        codec.decode(message + data.draw(st.binary(min_size=1, max_size=9)))


def encoded(codec: AvroCodec, schema: Schema, value: Any) -> bytes:
    """The message of a record that fits; a union may have to be told which branch is meant."""
    try:
        return codec.encoder("subject", schema)(value)
    except RecordInvalid as refused:
        assume("to mean" not in refused.hint)
        raise


def decoded_or_refused(codec: AvroCodec, message: bytes) -> None:
    with suppress(RecordUndecodable, SchemaNotFound):
        codec.decode(message)
