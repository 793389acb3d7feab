"""Expressions and templates: what they give, and what they refuse."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.actions.expressions import compile_expression, compile_template, scope_of
from penstock.actions.expressions.compile import MAX_PARTS
from penstock.errors import PenstockError, TransformFailed, UsageError
from penstock.events.envelope import EventEnvelope
from penstock.events.metadata import Event

EVENT = EventEnvelope(
    "orders",
    Event(
        {
            "category": "tag",
            "count": 3,
            "price": 2.5,
            "paid": True,
            "nothing": None,
            "owners": [{"name": "ann"}, {"name": "bob"}],
            "aspect": {"value": b'{"executorId": "default", "args": {"n": 4}}'},
            "odd name": "x",
        }
    ),
    {"kafka": {"topic": "t", "partition": 0, "offset": 7}},
)


def value(text: str) -> Any:
    return compile_expression(text)(scope_of(EVENT))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("category", "tag"),
        ("upper(category) + ' ' + text(count)", "TAG 3"),
        ("count * 2 + price", 8.5),
        ("7 // 2 - -1", 4),
        ("7 % 4", 3),
        ("owners[1].name", "bob"),
        ("owners[-1]['name']", "bob"),
        ("owners[5].name", None),
        ("missing.deeper[0].still", None),
        ("event['odd name']", "x"),
        ("category[0:2]", "ta"),
        ("aspect.value.args.n + 1", 5),
        ("aspect.value", '{"executorId": "default", "args": {"n": 4}}'),
        ("event_type", "orders"),
        ("meta.kafka.topic + '/' + text(meta.kafka.offset)", "t/7"),
        ("'yes' if paid and count > 2 else 'no'", "yes"),
        ("nothing or category", "tag"),
        ("not nothing", True),
        ("category in ['tag', 'owner']", True),
        ("'a' not in category", False),
        ("[count, {'k': price}]", [3, {"k": 2.5}]),
        ("true == paid", True),
        ("coalesce(nothing, missing, 'z')", "z"),
        ("replace('a-b-c', '-', '+')", "a+b+c"),
        ("join(split('a,b', ','), ';')", "a;b"),
        ("find('urn:li:tag:pii', ':([^:]+)$')", "pii"),
        ("find('abc', 'x')", None),
        ("length(owners) + length(nothing)", 2),
        ("number('12') + number('0.5')", 12.5),
        ("from_json(to_json(owners))[0].name", "ann"),
        ("iso_time(0)", "1970-01-01T00:00:00.000Z"),
        ("max(1, count, 2)", 3),
        ("starts_with(trim('  tag'), 't')", True),
    ],
)
def test_an_expression_gives(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "__import__('os').system('true')",
        "category.__class__()",
        "(lambda: 1)()",
        "[x for x in owners]",
        "2 ** 100",
        "f'{category}'",
        "count if",
        "upper()",
        "upper(category, 1)",
        "uper(category)",
        "min(*owners)",
        "replace(category, old='a', new='b')",
        "find(category, category)",
        "find(category, '(')",
        "1 < 2 < 3",
        "x[1:2:3]",
        "{category: 1}",
        "b'bytes'",
        "(x := 1)",
        "+".join(["1"] * MAX_PARTS),
        "(" * 500 + ")" * 500,
        "x" * 5000,
    ],
)
def test_what_is_no_expression_is_refused_before_any_event(text: str) -> None:
    with pytest.raises(UsageError):
        compile_expression(text)


@pytest.mark.parametrize(
    "text",
    ["nothing + 'x'", "category * 3", "1 / 0", "'a' < 1", "upper(count)", "number('x')", "-category", "1 in count"],
)
def test_an_expression_without_a_value_fails_the_event_and_says_why(text: str) -> None:
    with pytest.raises(TransformFailed, match="has no value for this event"):
        value(text)


def test_values_do_not_grow_without_end() -> None:
    long = EventEnvelope("t", Event({"s": "x" * 600_000, "n": 2**600}))
    for text in ("s + s", "n * n", "replace(s, 'x', 'yy')", "join([s, s], '')"):
        with pytest.raises(TransformFailed, match=r"too large|longer than"):
            compile_expression(text)(scope_of(long))


def test_fields_cannot_reach_into_python() -> None:
    assert value("category.__class__") is None
    assert value("owners.append") is None
    assert value("event.__init__") is None


@given(st.text(alphabet="abc.[]()+-*/<>=!'\" 01,:{}ifelsnot", max_size=30))
def test_no_text_does_anything_but_give_a_value_or_a_stated_error(text: str) -> None:
    with contextlib.suppress(PenstockError):
        compile_expression(text)({"a": 1, "b": "x", "c": [1, {"d": None}]})


def test_a_template_fills_texts_and_keeps_the_type_of_a_lone_expression() -> None:
    made = compile_template(
        {"text": "{{ upper(category) }}: {{nothing}}{{ count }}", "n": "{{ count }}", "list": ["{{ owners[0] }}", 1]}
    )
    assert made(scope_of(EVENT)) == {"text": "TAG: 3", "n": 3, "list": [{"name": "ann"}, 1]}


def test_a_template_with_a_bad_expression_is_refused() -> None:
    with pytest.raises(UsageError, match="calls no function"):
        compile_template({"a": ["{{ nonsense(1) }}"]})
