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
from penstock.errors import DatabaseUnfit
from penstock.lake.lake import Lake
from penstock.pipelines.verify.compare import Verdict, verify
from penstock.pipelines.verify.guard import Guard
from penstock.spark.protecting import Treatment
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


def test_hashed_columns_are_compared_by_their_hashes_and_hidden_ones_are_named(
    people: str, capturing: Settings, tmp_path: Path
) -> None:
    treatments: dict[str, Treatment] = {"id": "hash", "name": "hash", "balance": "mask"}
    guard = Guard(treatments.get, lambda text: f"#{text}")
    columns = pa.schema([("id", pa.string()), ("name", pa.string()), ("_cdc", CDC)])
    rows = [{"id": "#1", "name": "#Ada", "_cdc": {"lsn": 1}}, {"id": "#2", "name": "#", "_cdc": {"lsn": 1}}]
    write_deltalake(str(tmp_path / "people"), pa.Table.from_pylist(rows, columns))
    lake = Lake(capturing.model_copy(update={"lake": str(tmp_path)}))
    verdict = verify(people, PEOPLE, partial(lake.table, "people"), patience=0, guard=guard)
    assert (verdict.equal, verdict.not_compared) == (1, ("balance (masked by the pipeline)", "words (tsvector)"))
    assert [(each.key, each.columns) for each in verdict.differences] == [(("#2",), {"name": (None, "#")})]
    with pytest.raises(DatabaseUnfit, match="id, a part of the key, is masked"):
        verify(people, PEOPLE, partial(lake.table, "people"), 0, Guard({"id": "mask"}.get, str))


def test_a_value_is_found_in_the_column_of_any_type_that_it_had(
    people: str, capturing: Settings, tmp_path: Path
) -> None:
    columns = pa.schema([("id", pa.int32()), ("name", pa.int64()), ("name__string", pa.string()), ("_cdc", CDC)])
    rows = [{"id": 1, "name__string": "Ada", "_cdc": {"lsn": 1}}, {"id": 2, "_cdc": {"lsn": 1}}]
    write_deltalake(str(tmp_path / "people"), pa.Table.from_pylist(rows, columns))
    lake = Lake(capturing.model_copy(update={"lake": str(tmp_path)}))
    guard = Guard({"balance": "drop"}.get, str)
    assert verify(people, PEOPLE, partial(lake.table, "people"), patience=0, guard=guard).equal == 2
