import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from penstock.errors import TableUnreadable
from penstock.lake.lake import Lake
from tests.unit.lake.conftest import Ask


def write(path: Path, ids: list[int], kind: str = "view", query: str | None = None) -> None:
    rows = pa.table({"id": ids, "kind": [kind] * len(ids)})
    about = {"userMetadata": json.dumps({"query": query, "end": {}})} if query else {}
    write_deltalake(
        str(path), rows, mode="append", partition_by=["kind"], commit_properties=CommitProperties(custom_metadata=about)
    )


def test_a_delta_table_is_what_its_log_says_whatever_files_lie_there(tmp_path: Path, answer: Ask) -> None:
    write(tmp_path / "shop" / "orders", [1, 2])
    write(tmp_path / "shop" / "orders", [3], "click")
    DeltaTable(str(tmp_path / "shop" / "orders")).delete("id = 1")
    assert answer("SELECT id, kind FROM shop.orders ORDER BY id") == [(2, "view"), (3, "click")]
    assert answer("SELECT count(*) FROM shop.orders WHERE kind = 'click'") == [(1,)]


def test_a_delta_table_is_summed_up_from_its_log(tmp_path: Path, lake: Lake) -> None:
    write(tmp_path / "events", [1, 2])
    write(tmp_path / "events", [3], "click")
    table = lake.table("events")
    summary = table.summary()
    assert (table.format, table.partition_by) == ("delta", ("kind",))
    assert (summary.partitions, summary.files, summary.rows) == (2, 2, 3)
    assert summary.last_write is not None
    assert datetime.now(UTC) - summary.last_write < timedelta(minutes=1)


def test_commits_tell_who_made_them(tmp_path: Path, lake: Lake) -> None:
    write(tmp_path / "events", [1])
    write(tmp_path / "events", [2], query="events.lake")
    newest, oldest = lake.table("events").history(5)
    assert (newest.number, newest.writer, oldest.number, oldest.writer) == (1, "events.lake", 0, None)


def test_columns_that_came_later_are_null_in_older_rows(tmp_path: Path, answer: Ask) -> None:
    write(tmp_path / "events", [1])
    more = pa.table({"id": [2], "kind": ["view"], "more": ["x"]})
    write_deltalake(str(tmp_path / "events"), more, mode="append", schema_mode="merge")
    assert answer("SELECT id, more FROM events ORDER BY id") == [(1, None), (2, "x")]


@pytest.mark.parametrize("days", [5_000_000, -1_000_000])
def test_dates_beyond_those_of_python_are_read(tmp_path: Path, answer: Ask, days: int) -> None:
    rows = pa.table({"id": [1], "day": pa.array([days], pa.int32()).cast(pa.date32())})
    write_deltalake(str(tmp_path / "events"), rows)
    assert answer("SELECT id, day > '2000-01-01' FROM events") == [(1, days > 0)]


def test_two_delta_tables_are_joined_in_one_question(tmp_path: Path, answer: Ask) -> None:
    write(tmp_path / "events", [1, 2])
    write(tmp_path / "orders", [2, 3])
    assert answer("SELECT id FROM events JOIN orders USING (id)") == [(2,)]


def test_a_log_that_is_broken_is_told(tmp_path: Path, lake: Lake) -> None:
    log = tmp_path / "events" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("{ this is no commit")
    with pytest.raises(TableUnreadable, match="table events"):
        lake.table("events").summary()
