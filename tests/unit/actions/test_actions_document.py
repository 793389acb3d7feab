"""docs/actions-builtin.md names every action, transformer, operator and function, and their keys, no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.actions.catalogue import keys_of
from penstock.actions.expressions.functions import FUNCTIONS
from penstock.actions.filters.operators import OPERATORS
from penstock.actions.registry import ACTIONS, TRANSFORMERS

TEXT = (Path(__file__).parents[3] / "docs" / "actions-builtin.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return re.split(rf"^#+ {re.escape(heading)}$", TEXT, flags=re.MULTILINE)[1].partition("\n#")[0]


@pytest.mark.parametrize("name", ACTIONS.builtin)
def test_an_action_has_its_keys_in_a_table(name: str) -> None:
    documented = re.findall(r"^\| `(\w+)` \|", section(name), flags=re.MULTILINE)
    assert documented == [key.name for key in keys_of(name)]


def test_every_transformer_has_a_line() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", section("Transformers"), flags=re.MULTILINE)
    assert documented == [name for name in TRANSFORMERS.builtin if not name.startswith("_")]


def test_every_operator_and_function_is_named() -> None:
    assert not [name for name in OPERATORS if not re.search(rf"\b{name}\b", section("Filters"))]
    assert not [name for name in FUNCTIONS if not re.search(rf"\b{name}\b", section("Expressions"))]
