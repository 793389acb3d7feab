from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from penstock import Consumer
from penstock.cli.main import app
from penstock.config import Settings
from penstock.errors import SchemaNotFound, UsageError

COUNT = {"type": "record", "name": "Count", "fields": [{"name": "count", "type": "int"}]}

Produce = Callable[..., Result]
Values = Callable[[], list[object]]


@pytest.fixture
def schema(tmp_path: Path) -> str:
    file = tmp_path / "count.avsc"
    file.write_text(json.dumps(COUNT), encoding="utf-8")
    return str(file)


@pytest.fixture
def produce(settings: Settings, topic: str) -> Produce:
    """Run `penstock produce` for the test's topic on lines of input."""

    def run(lines: str = "", *options: str) -> Result:
        addresses = ["--bootstrap", settings.bootstrap, "--registry", settings.registry]
        return CliRunner().invoke(app, [*addresses, "produce", topic, *options], input=lines)

    return run


@pytest.fixture
def values(settings: Settings, topic: str) -> Values:
    def read() -> list[object]:
        with Consumer(topic, settings=settings, timeout=3) as consumer:
            return [record.value for record in consumer]

    return read


@pytest.mark.parametrize("mode", ["fire", "sync", "async"])
def test_lines_become_records_in_every_mode(produce: Produce, values: Values, schema: str, mode: str) -> None:
    result = produce('{"count": 1}\n{"count": 2}\n', "--schema", schema, "--mode", mode)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("sent 2 records in ")
    assert values() == [{"count": 1}, {"count": 2}]


def test_a_registered_schema_is_found_by_the_topics_name(produce: Produce, values: Values, schema: str) -> None:
    produce('{"count": 1}\n', "--schema", schema)
    assert produce('{"count": 2}\n', "--version", "1").exit_code == 0
    assert values() == [{"count": 1}, {"count": 2}]


def test_without_a_schema_nothing_is_sent(produce: Produce) -> None:
    result = produce('{"count": 1}\n')
    assert isinstance(result.exception, SchemaNotFound)
    assert "--schema" in result.exception.hint


def test_a_bad_line_stops_and_says_its_number_and_field(produce: Produce, values: Values, schema: str) -> None:
    result = produce('{"count": 1}\n\n{"count": "x"}\n{"count": 3}\n', "--schema", schema)
    assert result.exit_code == 1
    assert "line 3 refused: count: 'x' is not an int" in result.stderr
    assert "sent 1 record in " in result.stdout
    assert "1 line refused" in result.stdout
    assert values() == [{"count": 1}]


def test_bad_lines_may_be_skipped_and_the_exit_code_tells(produce: Produce, values: Values, schema: str) -> None:
    lines = '{"count": 1}\nnonsense\n{"cnt": 2}\n{"count": 4}\n'
    result = produce(lines, "--schema", schema, "--on-error", "skip")
    assert result.exit_code == 1
    assert "line 2 refused: not JSON" in result.stderr
    assert "line 3 refused: cnt" in result.stderr
    assert "sent 2 records in " in result.stdout
    assert values() == [{"count": 1}, {"count": 4}]


def test_a_file_a_key_and_headers(
    produce: Produce, settings: Settings, topic: str, schema: str, tmp_path: Path
) -> None:
    file = tmp_path / "counts.jsonl"
    file.write_text('{"count": 7}\n', encoding="utf-8")
    options = ("--key-field", "count", "--key-type", "int", "--header", "a=1", "--header", "a=x=y")
    result = produce("", str(file), "--schema", schema, *options)
    assert result.exit_code == 0, result.output
    with Consumer(topic, settings=settings) as consumer:
        record = next(consumer)
    assert (record.key, list(record.headers)) == (b"\x00\x00\x00\x07", [("a", b"1"), ("a", b"x=y")])


def test_wrong_usage_is_told_before_anything_is_sent(produce: Produce, schema: str, tmp_path: Path) -> None:
    wrong = (["--header", "a"], [str(tmp_path / "none.jsonl")], ["--schema", schema, "--version", "1"])
    for options in wrong:
        assert isinstance(produce("", *options).exception, UsageError), options
