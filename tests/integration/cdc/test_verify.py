"""A table and its mirror, compared: the mirror is written here by hand, so that it can be wrong."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from penstock.config import Settings
from penstock.connect.postgres import TableName
from penstock.lake.lake import Lake
from penstock.pipelines.verify.compare import Verdict, verify
from tests.cdc_fixtures import MakeDatabase, run

PEOPLE = TableName("public", "people")
CDC = pa.struct([("lsn", pa.int64()), ("outside", pa.map_(pa.string(), pa.string()))])
COLUMNS = pa.schema([("id", pa.int32()), ("name", pa.string()), ("balance", pa.decimal128(10, 2)), ("_cdc", CDC)])
MIRROR = [
    {"id": 1, "name": "Ada", "balance": Decimal("1.50"), "_cdc": {"lsn": 1, "outside": []}},
    {"id": 2, "name": None, "balance": None, "_cdc": {"lsn": 1, "outside": [("balance", "NaN")]}},
    {"id": 3, "name": "Mary", "balance": None, "_cdc": {"lsn": 1, "outside": None}},
]


@pytest.fixture(scope="module")
def people(make_database: MakeDatabase) -> str:
    return make_database(
        "CREATE TABLE people (id int PRIMARY KEY, name text, balance numeric(10, 2), words tsvector)",
        "INSERT INTO people VALUES (1, 'Ada', 1.5), (2, NULL, 'NaN'), (3, 'Mary', NULL)",
    )


def compared(people: str, capturing: Settings, lake: Path, rows: list[dict[str, Any]]) -> Verdict:
    write_deltalake(str(lake / "people"), pa.Table.from_pylist(rows, COLUMNS), mode="overwrite")
    settings = capturing.model_copy(update={"lake": str(lake)})
    return verify(people, PEOPLE, partial(Lake(settings).table, "people"), patience=0)


def test_a_mirror_with_the_same_rows_has_no_difference(people: str, capturing: Settings, tmp_path: Path) -> None:
    verdict = compared(people, capturing, tmp_path, MIRROR)
    assert (verdict.rows, verdict.equal, verdict.newer, verdict.differences) == (3, 3, 0, ())
    assert verdict.not_compared == ("words (tsvector)",)


def test_every_difference_is_found_with_both_values(people: str, capturing: Settings, tmp_path: Path) -> None:
    wrong = [{**MIRROR[0], "balance": Decimal("1.51")}, {**MIRROR[1], "name": ""}, {**MIRROR[2], "id": 4}]
    found = compared(people, capturing, tmp_path, wrong).differences
    assert [(each.key, each.problem, each.columns) for each in found] == [
        (("1",), "different", {"balance": ("1.5", "1.51")}),
        (("2",), "different", {"name": (None, "")}),
        (("4",), "not in the database", {}),
        (("3",), "missing in the lake", {}),
    ]


def test_rows_that_changed_after_the_moment_are_left_out(people: str, capturing: Settings, tmp_path: Path) -> None:
    later = {**MIRROR[0], "name": "Ada, later", "_cdc": {"lsn": 2**62, "outside": None}}
    verdict = compared(people, capturing, tmp_path, [later, *MIRROR[1:]])
    assert (verdict.equal, verdict.newer, verdict.differences) == (2, 1, ())


def test_a_row_that_should_be_gone_is_found(people: str, capturing: Settings, tmp_path: Path) -> None:
    run(people, "DELETE FROM people WHERE id = 3")
    verdict = compared(people, capturing, tmp_path, MIRROR)
    assert [each.problem for each in verdict.differences] == ["not in the database"]
