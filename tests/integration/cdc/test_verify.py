"""A table and its mirror, compared: the mirror is written here by hand, so that it can be wrong."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from penstock.config import Settings
from penstock.connect.postgres import TableName
from penstock.errors import DatabaseUnfit
from penstock.lake.lake import Lake
from penstock.lake.table import Table
from penstock.pipelines.verify import compare
from penstock.pipelines.verify.compare import Verdict, verify
from penstock.pipelines.verify.guard import Guard
from penstock.spark.protecting import Treatment
from tests.cdc_fixtures import MakeDatabase, run

PEOPLE = TableName("public", "people")
CDC = pa.struct(
    [("op", pa.string()), ("lsn", pa.int64()), ("tx", pa.string()), ("outside", pa.map_(pa.string(), pa.string()))]
)
COLUMNS = pa.schema([("id", pa.int32()), ("name", pa.string()), ("balance", pa.decimal128(10, 2)), ("_cdc", CDC)])
NOW = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
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
    lake = Lake(capturing.model_copy(update={"lake": str(tmp_path)}))

    def mirror_of_now() -> Table:
        """The database is held already, and its log goes on."""
        [(lsn,)] = run(people, "SELECT pg_logical_emit_message(true, 'test', '')", NOW)
        later = {**MIRROR[0], "name": "Ada, later", "_cdc": {"lsn": lsn, "outside": None}}
        rows = pa.Table.from_pylist([later, *MIRROR[1:]], COLUMNS)
        write_deltalake(str(tmp_path / "people"), rows, mode="overwrite")
        return lake.table("people")

    verdict = verify(people, PEOPLE, mirror_of_now, patience=0)
    assert (verdict.equal, verdict.newer, verdict.differences) == (2, 1, ())


def test_rows_with_positions_beyond_the_log_are_of_another_server(
    people: str, capturing: Settings, tmp_path: Path
) -> None:
    elsewhere = {**MIRROR[0], "name": "Ada, elsewhere", "_cdc": {"lsn": 2**62, "outside": None}}
    verdict = compared(people, capturing, tmp_path, [elsewhere, *MIRROR[1:]])
    assert (verdict.equal, verdict.newer, verdict.different) == (2, 0, 1)
    assert [(each.key, each.problem) for each in verdict.differences] == [
        (("1",), "from another server: its position is beyond the end of the database's log")
    ]


@pytest.mark.parametrize("is_followed", [False, True])
def test_changes_of_transactions_that_were_open_at_the_moment_are_left_out(
    people: str, capturing: Settings, tmp_path: Path, *, is_followed: bool
) -> None:
    with psycopg.connect(people) as connection:
        [(tx,)] = connection.execute("SELECT pg_current_xact_id()::text").fetchall()
        if is_followed:
            run(people, "SELECT pg_current_xact_id()")
        described = {"op": "u", "lsn": 1, "tx": tx, "outside": None}
        changed = {**MIRROR[0], "name": "Augusta", "_cdc": described}
        added = {**MIRROR[0], "id": 77, "_cdc": described}
        opened = compared(people, capturing, tmp_path, [changed, *MIRROR[1:], added])
    assert (opened.rows, opened.equal, opened.newer, opened.differences) == (3, 2, 2, ())
    ended = compared(people, capturing, tmp_path, [changed, *MIRROR[1:], added])
    assert [(each.key, each.problem) for each in ended.differences] == [
        (("1",), "different"),
        (("77",), "not in the database"),
    ]


def test_a_row_that_the_mirror_has_twice_is_found(people: str, capturing: Settings, tmp_path: Path) -> None:
    verdict = compared(people, capturing, tmp_path, [*MIRROR, MIRROR[0]])
    assert [(each.key, each.problem) for each in verdict.differences] == [(("1",), "more than once in the lake")]
    assert (verdict.equal, verdict.different) == (2, 1)


def test_all_differences_are_counted_however_few_are_told(
    people: str, capturing: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "_KEPT", 2)
    verdict = compared(people, capturing, tmp_path, [])
    assert (verdict.rows, verdict.equal, verdict.different, len(verdict.differences)) == (3, 0, 3, 2)


EVERY_FORM = """
CREATE TABLE forms (id int PRIMARY KEY, far timestamp, early timestamptz, day date, price money, span interval,
                    address inet, document xml, bits bit(12), flag bit(1));
INSERT INTO forms VALUES (1, '12026-05-06 07:08:09.5', '0044-03-15 12:00:00+00 BC', '0044-03-15 BC', -1234.5,
    '1 year 2 months -3 days 04:05:06.7', '10.0.0.1', NULL,
    B'000110101010', B'1')
"""
NO_STATISTICS = {"delta.dataSkippingNumIndexedCols": "0"}
IN_LAKE = """
SELECT id, (extract(epoch FROM far) * 1000000)::bigint, (extract(epoch FROM early) * 1000000)::bigint,
       day - DATE '1970-01-01', price::numeric FROM forms
"""
FORMS = {
    "id": pa.int32(),
    "far": pa.timestamp("us"),
    "early": pa.timestamp("us", "UTC"),
    "day": pa.date32(),
    "price": pa.decimal128(19, 2),
    "span": pa.string(),
    "address": pa.string(),
    "document": pa.string(),
    "bits": pa.binary(),
    "flag": pa.bool_(),
}


def test_values_of_types_without_a_plain_text_are_compared(
    make_database: MakeDatabase, capturing: Settings, tmp_path: Path
) -> None:
    url = make_database(EVERY_FORM)
    numbers = run(url, IN_LAKE)[0]
    texts = ("P1Y2M-3DT4H5M6.7S", "10.0.0.1", None, b"\xaa\x01", True)
    right = dict(zip(FORMS, (*numbers, *texts), strict=True))
    other = (-1, -1, 0, Decimal("1.00"), "P14M", "10.0.0.2", "<b/>", b"\xaa\x00", False)
    wrong = dict(zip(FORMS, (1, *other), strict=True))
    lake = Lake(capturing.model_copy(update={"lake": str(tmp_path)}))

    def found(values: dict[str, Any]) -> Verdict:
        columns = {name: _stored(values[name], kind) for name, kind in FORMS.items()}
        stored = pa.table({**columns, "_cdc": pa.array([{"lsn": 1}], CDC)})
        # The library that reads the table cannot read statistics of such days.
        write_deltalake(str(tmp_path / "forms"), stored, mode="overwrite", configuration=NO_STATISTICS)
        return verify(url, TableName("public", "forms"), partial(lake.table, "forms"), patience=0)

    verdict = found(right)
    assert (verdict.equal, verdict.differences, verdict.not_compared) == (1, (), ())
    [difference] = found(wrong).differences
    assert set(difference.columns) == set(FORMS) - {"id"}
    assert difference.columns["far"] == ("12026-05-06T07:08:09.500000", "1969-12-31T23:59:59.999999")
    assert difference.columns["early"][0] == "0044-03-15T12:00:00.000000 BC"
    assert difference.columns["day"] == ("0044-03-15 BC", "1970-01-01")


def _stored(value: object, kind: pa.DataType) -> pa.Array:
    """One value in a column; Python's own days and moments do not reach as far."""
    if pa.types.is_temporal(kind):
        return pa.array([value], pa.int32() if pa.types.is_date(kind) else pa.int64()).cast(kind)
    return pa.array([value], kind)


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
