"""Any body against any schema: the collector answers within moments, and what it takes fits the schema."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.collector.parse import Rejected, parse_body
from penstock.collector.refusals import Refusal
from penstock.collector.shape import EventShape
from penstock.schemas import AvroCodec, MemoryRegistry, Schema
from penstock.schemas.avro.model import RecordType
from penstock.schemas.from_json import from_json, parse_json
from penstock.schemas.to_json import to_json
from tests.fuzz.budget import fuzz
from tests.unit.schemas.strategies import record_schemas, values

pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")

SECONDS = 2.0
MOST = 1_000
TYPES = [b"application/json", b"application/x-ndjson"]

NUMBERS = ["0", "-0", "1e999999999", "-1e999999999", "0e999999999", "1e-999999999", "0.0", "1E+5", "12.50", "9" * 5_000]
WORDS = ['"NaN"', '"2026-07-30"', '"2026-07-30T12:00:00Z"', '"1e999999999"', '"\\ud800"', '"\\u00ff"', '""', '"A"']
LEAVES = st.one_of(
    st.sampled_from(
        [*NUMBERS, *WORDS, "null", "true", "false", "nul", "", "NaN", "[" * 3_000, '"' + "x" * 2_000 + '"']
    ),
    st.integers().map(str),
    st.text(max_size=5).map(json.dumps),
)
NAMES = st.one_of(
    st.sampled_from(["f0", "f1", "f2", "again", "event_id", "string", "T1", "T2", "array"]), st.text(max_size=3)
)


def array_text(items: list[str]) -> str:
    return f"[{','.join(items)}]"


def object_text(entries: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in entries) + "}"


ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(array_text),
        st.lists(st.tuples(NAMES, inner), max_size=4).map(object_text),
        st.tuples(NAMES, st.integers(1, 150), inner).map(lambda it: f'{{"{it[0][:3]}":' * it[1] + it[2] + "}" * it[1]),
        st.tuples(st.integers(2, 300), inner.filter(lambda text: len(text) < 300)).map(
            lambda it: array_text([it[1]] * it[0])
        ),
    ),
    max_leaves=8,
)


@st.composite
def events(draw: st.DrawFn, schema: Schema) -> str:
    """An event that fits more or less: its fields have values of the schema, or anything at all."""
    root = schema.type
    assert isinstance(root, RecordType)
    fitting = draw(values(schema))
    entries = [(name, json.dumps(to_json(value))) for name, value in fitting.items()]
    changed = [(name, draw(ANY_JSON) if draw(st.integers(0, 3)) == 0 else text) for name, text in entries]
    return object_text([*changed, *draw(st.lists(st.tuples(NAMES, ANY_JSON), max_size=1))])


@fuzz(short=120, long=300_000)
@given(st.data())
def test_a_body_is_judged_within_moments_and_what_is_taken_fits(data: st.DataObject) -> None:
    schema = data.draw(record_schemas())
    assert isinstance(schema.type, RecordType)
    shape = EventShape(schema.type)
    texts = data.draw(st.lists(st.one_of(events(schema), ANY_JSON), min_size=1, max_size=3))
    body = data.draw(st.sampled_from([array_text, "\n".join, "".join]))(texts).encode()
    began = process_time()
    taken: list[Any] = []
    try:
        parsed = parse_body(body, data.draw(st.sampled_from(TYPES)), shape, MOST)
        taken = [event for event in parsed.events if not isinstance(event, Rejected)]
        for event in taken:
            shape.take_id(event)
    except Refusal:
        pass
    assert process_time() - began < SECONDS
    encode = AvroCodec(MemoryRegistry()).encoder("subject", schema)
    for event in taken:
        encode(from_json(parse_json(shape.encode(event)), schema.type))


@st.composite
def ambiguous(draw: st.DrawFn) -> Schema:
    """Records, maps and arrays in unions that name one another, so that a value may belong to many branches."""
    names = [f"T{number}" for number in range(draw(st.integers(1, 5)))]
    defined: list[str] = []

    def branch() -> Any:
        kind = draw(st.sampled_from(["name", "name", "map", "array", "string", "double"]))
        known = [*defined, "null"]
        if kind == "name" and len(defined) < len(names):
            return define()
        return {
            "map": lambda: {"type": "map", "values": [draw(st.sampled_from(known)), "int"]},
            "array": lambda: {"type": "array", "items": [draw(st.sampled_from(known)), "int"]},
            "name": lambda: draw(st.sampled_from(known)),
        }.get(kind, lambda: kind)()

    def define() -> Any:
        name = names[len(defined)]
        defined.append(name)
        field_names = ["a", "b"][: draw(st.integers(1, 2))]
        default = draw(st.sampled_from([{}, {"default": None}]))
        fields = [{"name": field, "type": union(), **default} for field in field_names]
        return {"type": "record", "name": name, "fields": fields}

    def union() -> Any:
        found: dict[str, Any] = {"null": "null"}
        for _ in range(draw(st.integers(1, 4))):
            node = branch()
            name = node if isinstance(node, str) else str(node.get("name", node["type"]))
            found.setdefault(name, node)
        return list(found.values())

    return Schema.from_text(json.dumps(define()))


@fuzz(short=100, long=300_000)
@given(st.data())
def test_values_that_could_belong_to_many_branches_take_moments(data: st.DataObject) -> None:
    schema = data.draw(ambiguous())
    assert isinstance(schema.type, RecordType)
    shape = EventShape(schema.type)
    many = [array_text([item] * 2_000) for item in ("{}", '{"a":1}', '{"b":"x"}')]
    leaf = data.draw(st.sampled_from(["null", "1.5", '"x"', "{}", "[]", '{"c":1}', "true", *many]))
    text = leaf
    for _ in range(data.draw(st.integers(1, 150))):
        text = data.draw(st.sampled_from(['{"a":%s}', '{"b":%s}', '{"a":%s,"b":null}', "[%s]"])) % text
    began = process_time()
    try:
        parse_body(text.encode(), TYPES[0], shape, MOST)
    except Refusal:
        pytest.fail("JSON is never refused whole")
    assert process_time() - began < SECONDS
