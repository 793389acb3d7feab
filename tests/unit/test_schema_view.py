from __future__ import annotations

import json

from penstock.cli.schema_view import aligned, pretty

SENSOR = '    {"name": "sensor", "type": "string"}'
CELSIUS = '    {"name": "celsius", "type": "double"}'


def test_a_schema_is_shown_with_a_field_on_each_line() -> None:
    node = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": ["null", "int"]}, {"name": "b", "type": "int"}],
    }
    assert pretty(node).splitlines() == [
        "{",
        '  "type": "record",',
        '  "name": "R",',
        '  "fields": [',
        '    {"name": "a", "type": ["null", "int"]},',
        '    {"name": "b", "type": "int"}',
        "  ]",
        "}",
    ]


def test_what_is_shown_is_the_same_schema() -> None:
    node = {
        "type": "array",
        "items": {"type": "enum", "name": "Long", "symbols": [f"S{n}" for n in range(99)]},
        "x": {},
    }
    assert json.loads(pretty(node)) == node
    assert max(map(len, pretty(node).splitlines())) <= 100
    assert pretty("string") == '"string"'


def test_fields_are_paired_by_name_and_a_comma_is_no_change() -> None:
    wider = CELSIUS.replace("double", "string")
    rows = list(aligned([f"{SENSOR},", CELSIUS], [SENSOR]))
    assert [row[0] for row in rows] == [" ", "-"]
    assert [row[0] for row in aligned([CELSIUS], [f"{SENSOR},", wider])] == ["+", "~"]
    assert [row[0] for row in aligned(['"name": "A",'], ['"name": "B",'])] == ["~"]
    assert [row[0] for row in aligned([SENSOR], [CELSIUS])] == ["-", "+"]
