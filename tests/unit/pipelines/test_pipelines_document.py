"""The document of pipelines names every key, with its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from penstock.config.connection import Connection
from penstock.pipelines.formats import FORMATS
from penstock.pipelines.sinks import SINKS
from penstock.pipelines.source import KafkaSourceConfig
from penstock.pipelines.spec import Options, PipelineFile, Spark
from penstock.pipelines.transforms import TRANSFORMS

DOCUMENT = (Path(__file__).parents[3] / "docs" / "pipelines.md").read_text()
SECTIONS: list[tuple[str, type[BaseModel]]] = [
    ("## The file", PipelineFile),
    ("### options", Options),
    ("## Source: kafka", KafkaSourceConfig),
    ("| connection |", Connection),
    ("## Spark", Spark),
    *((f"### {name}\n", config) for name, config in SINKS.items()),
]


def rows_after(heading: str) -> list[list[str]]:
    """The cells of the first table after a heading."""
    rest = DOCUMENT.partition(heading)[2]
    table = re.search(r"(^\|.*\n)+", rest if heading[0] == "#" else f"|{rest}", re.MULTILINE)
    assert table
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table[0].splitlines()]


@pytest.mark.parametrize(("heading", "model"), SECTIONS, ids=[heading.strip() for heading, _ in SECTIONS])
def test_every_key_is_described(heading: str, model: type[BaseModel]) -> None:
    described = [name for row in rows_after(heading) for name in re.findall(r"`(\w+)`", row[0])]
    assert described == [field.alias or name for name, field in model.model_fields.items()]


@pytest.mark.parametrize(("heading", "model"), SECTIONS, ids=[heading.strip() for heading, _ in SECTIONS])
def test_plain_defaults_are_the_real_ones(heading: str, model: type[BaseModel]) -> None:
    defaults = {name: row[1].strip("`") for row in rows_after(heading) for name in re.findall(r"`(\w+)`", row[0])}
    for name, field in model.model_fields.items():
        if isinstance(field.default, str):
            assert defaults[field.alias or name] == field.default


def test_every_transform_and_format_is_described() -> None:
    assert [re.findall(r"`(\w+)`", row[0]) for row in rows_after("## Transforms")][2:] == [
        [name] for name in TRANSFORMS
    ]
    assert re.findall(r"^\*\*(\w+)\.\*\*", DOCUMENT.partition("### Formats")[2], re.MULTILINE)[: len(FORMATS)] == list(
        FORMATS
    )
