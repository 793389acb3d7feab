"""Compaction of Delta tables whose folders have names of any kind: readers see each row once, before and after."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from penstock.config import Settings
from penstock.errors import CompactionRefused, LakeUnavailable
from penstock.lake.compaction import compact_table, delta, delta_rewrite
from penstock.lake.compaction.plan import Compacted
from tests.unit.lake.conftest import Ask
from tests.unit.lake.delta_of_spark import append, folder_of

KINDS = [
    "Zürich",
    "日本",
    "😀",
    "a~b",
    "50%",
    "a%20b",
    "a b",
    "a=b",
    "a/b",
    "a:b",
    "..",
    "a\nb",
    "%C3%BC",
    None,
    "plain",
]
Row = tuple[int, str | None]


def compact(table: Path) -> Compacted:
    return compact_table(Settings.model_validate({"lake": str(table.parent)}), table.name)


def read(table: Path) -> list[Row]:
    rows = DeltaTable(str(table)).to_pyarrow_dataset()
    found = duckdb.sql("SELECT id, kind FROM rows ORDER BY id").fetchall()
    assert len(found) == rows.count_rows() == DeltaTable(str(table)).count()
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "events"


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_any_name_is_compacted_and_each_row_stays_once(table: Path, kind: str | None, answer: Ask) -> None:
    for number in range(3):
        append(table, [(number, kind)])
    for expected in (3, 0):
        assert compact(table).files_before == expected
        assert read(table) == [(number, kind) for number in range(3)]
        assert answer("SELECT id, kind FROM events ORDER BY id") == read(table)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


@examples(max_examples=40)
@given(st.lists(st.lists(st.none() | TEXTS, min_size=1, max_size=4), min_size=2, max_size=4))
def test_batches_with_any_values_are_the_same_rows_after_each_compaction(
    batches: Sequence[Sequence[str | None]],
) -> None:
    with TemporaryDirectory() as lake:
        table, rows = Path(lake) / "events", list[Row]()
        for batch in batches:
            new = list(enumerate(batch, start=len(rows)))
            append(table, new)
            rows += new
        for _ in range(2):
            compact(table)
            assert read(table) == rows
        assert len(DeltaTable(str(table)).file_uris()) == len({kind for _, kind in rows})


def test_merged_files_are_removed_once_the_log_no_longer_needs_them(table: Path) -> None:
    for number in range(3):
        append(table, [(number, "Zürich"), (10 + number, "a~b")])
    compact(table)
    assert len(list(table.rglob("*.parquet"))) == 8
    DeltaTable(str(table)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert len(list(table.rglob("*.parquet"))) == 2
    assert len(read(table)) == 6


@pytest.mark.parametrize("kind", ["Zürich", "plain"])
def test_files_of_a_batch_in_progress_are_never_removed(table: Path, kind: str) -> None:
    for number in range(2):
        append(table, [(number, kind)])
    keep_for_an_hour = {"delta.deletedFileRetentionDuration": "interval 1 hours"}
    DeltaTable(str(table)).alter.set_table_properties(keep_for_an_hour)
    uncommitted = table / folder_of(kind) / "part-00000-uncommitted.snappy.parquet"
    uncommitted.write_bytes(b"rows of a batch")
    os.utime(uncommitted, (0, 0))
    assert compact(table).files_before == 2
    assert uncommitted.exists()


def test_rows_that_were_appended_meanwhile_are_kept(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before_commit(monkeypatch, lambda: append(table, [(7, "Zürich")]))
    for number in range(2):
        append(table, [(number, "Zürich")])
    assert compact(table).files_before == 2
    assert [number for number, _ in read(table)] == [0, 1, 7]


def test_a_source_that_was_removed_meanwhile_ends_the_compaction(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = delta_rewrite.rewrite_small_files
    before_commit(monkeypatch, lambda: real(DeltaTable(str(table)), "events", str(table), 2**20))
    for number in range(2):
        append(table, [(number, "Zürich")])
    with pytest.raises(LakeUnavailable, match="changed at the same time"):
        compact(table)
    assert [number for number, _ in read(table)] == [0, 1]
    assert len(list(table.rglob("*.parquet"))) == 3, "what the second compaction made is removed"


def before_commit(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Let something happen between the merge and the commit, once."""
    commit = delta_rewrite._commit

    def late(*given: Any) -> None:
        monkeypatch.setattr(delta_rewrite, "_commit", commit)
        act()
        commit(*given)

    monkeypatch.setattr(delta_rewrite, "_commit", late)


def test_a_crash_before_or_after_the_commit_is_harmless(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2):
        append(table, [(number, "Zürich")])
    commit = delta_rewrite._commit
    for happens in (False, True):

        def die(*given: Any, happens: bool = happens) -> None:
            if happens:
                commit(*given)
            raise KeyboardInterrupt

        monkeypatch.setattr(delta_rewrite, "_commit", die)
        with pytest.raises(KeyboardInterrupt):
            compact(table)
        assert [number for number, _ in read(table)] == [0, 1]


PARTITIONS = {
    "moment": pa.array([datetime(2026, 1, 2, 3, 4, 5, 600, UTC)] * 2, pa.timestamp("us", "UTC")),
    "price": pa.array([Decimal("1.50")] * 2, pa.decimal128(9, 2)),
    "day": pa.array([date(2026, 1, 2)] * 2),
    "is_new": pa.array([True] * 2),
    "number": pa.array([-5] * 2, pa.int32()),
    "text": pa.array(["ü"] * 2),
}


@pytest.mark.parametrize("column", PARTITIONS)
def test_partition_values_of_every_type_stay_what_they_were(
    table: Path, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "is_plain", lambda _reference: False)
    for number in range(2):
        rows = pa.table({"id": [number, number], column: PARTITIONS[column]})
        write_deltalake(str(table), rows, mode="append", partition_by=[column])
    before = DeltaTable(str(table)).to_pyarrow_table().sort_by("id")
    assert compact(table).files_before == 2
    assert DeltaTable(str(table)).to_pyarrow_table().sort_by("id").equals(before)


SPELLINGS = ["0999-01-01 03:00:00", "2026-01-01T03:00:00.000000Z", "2026-01-01 03:00:00", None]
"""Timestamps as several versions of Delta write them. A text without a zone is in the zone of the reader's session."""


@pytest.mark.parametrize("is_in_checkpoint", [False, True])
@pytest.mark.parametrize("text", SPELLINGS)
def test_partition_values_are_repeated_as_the_log_spells_them(
    table: Path, text: str | None, *, is_in_checkpoint: bool
) -> None:
    for number in range(2):
        append(table, [(number, "Zürich")])
    for commit in (table / "_delta_log").glob("*.json"):
        values = json.dumps({"kind": text})
        commit.write_text(
            commit.read_text()
            .replace('{"kind": "Zürich"}', values)
            .replace(
                '\\"name\\": \\"kind\\", \\"type\\": \\"string', '\\"name\\": \\"kind\\", \\"type\\": \\"timestamp'
            )
        )
    if is_in_checkpoint:
        DeltaTable(str(table)).create_checkpoint()
        for commit in (table / "_delta_log").glob("*.json"):
            commit.unlink()
    assert compact(table).files_before == 2
    actions = map(json.loads, (table / "_delta_log" / f"{2:020}.json").read_text().splitlines())
    changed = [each.get("add") or each.get("remove") for each in actions if "commitInfo" not in each]
    assert [each["partitionValues"] for each in changed] == [{"kind": text}] * 3


@pytest.mark.parametrize(
    "protocol",
    [
        {"minReaderVersion": 2, "minWriterVersion": 5},
        {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["deletionVectors"],
            "writerFeatures": ["deletionVectors"],
        },
    ],
)
def test_features_that_ask_for_more_than_other_files_are_refused(table: Path, protocol: dict[str, Any]) -> None:
    for number in range(2):
        append(table, [(number, "Zürich")])
    (table / "_delta_log" / f"{2:020}.json").write_text(json.dumps({"protocol": protocol}) + "\n")
    with pytest.raises(CompactionRefused, match="only Spark compacts"):
        compact(table)


def test_files_of_other_tables_are_never_merged(table: Path) -> None:
    append(table, [(1, "Zürich"), (2, "Zürich")])
    log = table / "_delta_log" / f"{0:020}.json"
    shutil.move(table / "kind=Zürich", table.parent / "kind=Zürich")
    log.write_text(log.read_text().replace('"kind=Zürich', '"../kind=Zürich'))
    with pytest.raises(CompactionRefused, match="another table"):
        compact(table)


def test_an_object_store_refuses_such_folders_and_names_the_way_out(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(table, [(1, "Zürich")])
    monkeypatch.setattr(delta, "is_local", lambda _location: False)
    with pytest.raises(CompactionRefused, match="need escaping") as refused:
        compact(table)
    assert "compact_every" in refused.value.hint
