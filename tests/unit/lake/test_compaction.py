from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import dataset as ds
from pyarrow import parquet as pq

from penstock.cli.main import main
from penstock.config import Settings
from penstock.errors import CompactionRefused, LakeUnavailable, QueryInterrupted
from penstock.lake.compaction import compact_table, parquet
from penstock.lake.compaction.plan import Compacted, SmallFile, groups
from penstock.spark.files import LocalFiles
from penstock.spark.lake.file_names import file_name, merged_name, number_of, writer_of
from penstock.spark.lake.ledger import Entry, Ledger, Move, ledger_of
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import Position

QUERY = "events.lake"
DAYS = ("day=1", "day=2")


class Writer:
    """Lands batches as the Parquet sink does: staged, in the ledger, moved under the lock, finished."""

    def __init__(self, table: LakeTable, query: str = QUERY) -> None:
        self.table, self.query, self.number, self.rows = table, query, 0, 0
        self.ledger = Ledger(LocalFiles(), ledger_of(table, query))

    def stage(self, **columns: pa.Array) -> Entry:
        self.number += 1
        moves = []
        for index, day in enumerate(DAYS):
            staged = Path(self.table.state(self.query)) / "staging" / str(self.number) / day / "part.parquet"
            staged.parent.mkdir(parents=True)
            pq.write_table(pa.table({"id": [self.rows, self.rows + 1], **columns}), staged, compression="snappy")
            self.rows += 2
            moves.append(Move(str(staged), f"{self.table.path}/{day}/{file_name(self.query, self.number, index)}"))
        return Entry(self.number, "me", Position({}, {}), tuple(moves))

    def move(self, entry: Entry, first: int = 0, last: int = len(DAYS)) -> None:
        with LocalFiles().lock(self.table.lock):
            for move in entry.moves[first:last]:
                LocalFiles().move(*move)

    def land(self, **columns: pa.Array) -> None:
        entry = self.stage(**columns)
        assert self.ledger.add(entry)
        self.move(entry)
        self.ledger.finish(entry)


@pytest.fixture
def table(tmp_path: Path) -> LakeTable:
    return LakeTable(str(tmp_path), "events", ("day",))


@pytest.fixture
def compact(tmp_path: Path) -> Callable[[], Compacted]:
    return lambda: compact_table(Settings.model_validate({"lake": str(tmp_path)}), "events")


def ids(table: LakeTable) -> list[int]:
    """What DuckDB finds by a glob, and pyarrow has to find too."""
    with duckdb.connect() as database:
        found = database.execute(
            "SELECT id FROM read_parquet(?, union_by_name = true)", [f"{table.path}/**/*.parquet"]
        ).fetchall()
    return sorted(row[0] for row in found)


def names(table: LakeTable) -> list[str]:
    return sorted(path.name for path in Path(table.path).rglob("*.parquet"))


def test_names_tell_who_wrote_a_file() -> None:
    assert writer_of(f"day=1/{file_name('a-1.lake', 12, 3)}") == "a-1.lake"
    assert writer_of(merged_name("a-1.lake", 12, "0f")) == "a-1.lake"
    assert writer_of("part-00000-1234-c000.snappy.parquet") is None
    assert number_of(file_name("a-1.lake", 12, 3)) == number_of(merged_name("a-1.lake", 12, "0f")) == 12


def test_files_of_one_kind_are_put_together_up_to_the_wanted_size() -> None:
    files = [SmallFile(f"f{index}", size, kind) for index, (size, kind) in enumerate([(40, "a"), (40, "a"), (5, "b")])]
    assert groups([*files, SmallFile("f3", 40, "a"), SmallFile("f4", 40, "a")], 100) == [
        [files[0], files[1]],
        [SmallFile("f3", 40, "a"), SmallFile("f4", 40, "a")],
    ]


def test_small_files_of_each_folder_become_one(table: LakeTable, compact: Callable[[], Compacted]) -> None:
    writer = Writer(table)
    for _ in range(5):
        writer.land()
    did = compact()
    assert (did.files_before, did.files_after) == (10, 2)
    assert len(names(table)) == 2
    assert ids(table) == list(range(writer.rows))
    assert ds.dataset(table.path, format="parquet", partitioning="hive").count_rows() == writer.rows
    assert compact().files_before == 0


def test_columns_and_types_stay_what_they_were(table: LakeTable, compact: Callable[[], Compacted]) -> None:
    columns = {
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
        "moment": pa.array([1, 2], pa.timestamp("us", tz="UTC")),
        "tags": pa.array([["a"], None], pa.list_(pa.string())),
        "place": pa.array([{"city": "Ulm"}, None], pa.struct([("city", pa.string())])),
    }
    writer = Writer(table)
    for _ in range(2):
        writer.land(**columns)
    before = pq.read_schema(next(Path(table.path).rglob("*.parquet")))
    compact()
    after = next(Path(table.path).rglob("*.parquet"))
    assert pq.read_schema(after).equals(before)
    assert pq.read_table(after)["price"].to_pylist() == [Decimal("1.50"), None] * 2


@pytest.mark.parametrize("empty", [(0,), (2,), (0, 1, 2)])
def test_files_without_rows_are_merged_too(
    tmp_path: Path, compact: Callable[[], Compacted], empty: tuple[int, ...]
) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    for number in range(3):
        rows = pa.table({"id": pa.array([number], pa.int64())})
        with pq.ParquetWriter(folder / file_name(QUERY, number, 0), rows.schema, compression="snappy") as file:
            if number not in empty:  # Spark leaves a file without any row group
                file.write_table(rows)
    assert compact().files_before == 3
    (merged,) = folder.iterdir()
    assert pq.read_table(merged)["id"].to_pylist() == [number for number in range(3) if number not in empty]


def test_files_with_other_columns_are_not_merged_with_these(table: LakeTable, compact: Callable[[], Compacted]) -> None:
    writer = Writer(table)
    for columns in ({}, {}, {"new": pa.array([1, 2])}, {"new": pa.array([1, 2])}):
        writer.land(**columns)
    compact()
    assert len(names(table)) == 4
    assert ids(table) == list(range(writer.rows))


def test_files_of_each_writer_stay_apart_and_others_are_left_alone(
    table: LakeTable, compact: Callable[[], Compacted]
) -> None:
    one, two = Writer(table), Writer(table, "other.lake")
    for writer in (one, two, one, two):
        writer.land()
    pq.write_table(pa.table({"id": [99]}), f"{table.path}/day=1/theirs.parquet")
    compact()
    left = [writer_of(name) for name in names(table)]
    assert sorted(map(str, left)) == ["None", QUERY, QUERY, "other.lake", "other.lake"]


def test_files_that_a_dead_writer_has_not_finished_moving_are_left_alone(
    table: LakeTable, compact: Callable[[], Compacted]
) -> None:
    writer = Writer(table)
    for _ in range(3):
        writer.land()
    entry = writer.stage()
    assert writer.ledger.add(entry)
    writer.move(entry, 0, 1)
    compact()
    assert Path(entry.moves[0].target).exists()
    writer.move(entry)
    assert ids(table) == list(range(writer.rows))


def test_a_batch_that_lands_between_merging_and_swapping_is_kept(
    table: LakeTable, compact: Callable[[], Compacted], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(table)
    for _ in range(3):
        writer.land()
    swap = parquet._swap

    def late(*given: object) -> None:
        writer.land()
        swap(*given)

    monkeypatch.setattr(parquet, "_swap", late)
    compact()
    assert ids(table) == list(range(writer.rows))


STEPS = ["merge", "_swap", "exchange", "shutil.rmtree"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_step_is_harmless(
    table: LakeTable, compact: Callable[[], Compacted], monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    writer = Writer(table)
    for _ in range(4):
        writer.land()
    with monkeypatch.context() as patch:
        patch.setattr(f"penstock.lake.compaction.parquet.{step}", dying(step, after=after))
        with pytest.raises(KeyboardInterrupt):
            compact()
    assert ids(table) == list(range(writer.rows))
    writer.land()
    compact()
    assert ids(table) == list(range(writer.rows))
    assert len(names(table)) == 2
    assert not list((Path(table.internal) / "compaction").iterdir())


def dying(step: str, *, after: bool) -> Callable[..., None]:
    """A step at which the process is killed, before or after it; the first cleaning up is let pass."""
    module, _, name = step.rpartition(".")
    real = getattr(getattr(parquet, module) if module else parquet, name)
    calls = iter(range(10**6))

    def die(*given: object, **options: object) -> None:
        clean_up = name == "rmtree" and next(calls) == 0
        if after or clean_up:
            real(*given, **options)
        if not clean_up:
            raise KeyboardInterrupt

    return die


@pytest.mark.timeout(120)
def test_readers_and_writers_at_work_never_miss_a_row_or_see_one_twice(
    table: LakeTable, compact: Callable[[], Compacted]
) -> None:
    writer, stop, wrong = Writer(table), threading.Event(), list[str]()
    writer.land()

    def read() -> Iterator[str]:
        while not stop.is_set():
            least = (writer.number - 1) * 2 * len(DAYS)
            try:
                found = ids(table)
            except duckdb.IOException:
                continue  # a file that was listed before the folders changed places: the reader asks again
            if len(found) != len(set(found)):
                yield f"twice: {len(found) - len(set(found))}"
            if len(found) < least:
                yield f"missing: {least - len(found)}"

    reader = threading.Thread(target=lambda: wrong.extend(read()))
    reader.start()
    for _ in range(60):
        writer.land()
        if writer.number % 3 == 0:
            compact()
    stop.set()
    reader.join()
    assert wrong == []
    assert ids(table) == list(range(writer.rows))


def test_two_compactions_of_a_table_do_not_meet(
    table: LakeTable, compact: Callable[[], Compacted], monkeypatch: pytest.MonkeyPatch
) -> None:
    Writer(table).land()
    monkeypatch.setattr("penstock.spark.files._LOCK_SECONDS", 0.05)
    with LocalFiles().lock(f"{table.internal}/compaction.lock"), pytest.raises(QueryInterrupted, match="locked"):
        compact()


def test_files_that_vanish_while_they_are_merged_stop_it(
    table: LakeTable, compact: Callable[[], Compacted], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(table)
    for _ in range(2):
        writer.land()
    swap = parquet._swap

    def remove(_table: LakeTable, folder: Path, *given: object) -> None:
        next(folder.iterdir()).unlink()
        swap(_table, folder, *given)

    monkeypatch.setattr(parquet, "_swap", remove)
    with pytest.raises(LakeUnavailable, match="removed"):
        compact()


def test_plain_parquet_on_an_object_store_is_refused(monkeypatch: pytest.MonkeyPatch, table: LakeTable) -> None:
    Writer(table).land()
    monkeypatch.setattr("penstock.lake.compaction.is_local", lambda _location: False)
    with pytest.raises(CompactionRefused, match="object store"):
        compact_table(Settings.model_validate({"lake": table.lake}), "events")


def test_a_delta_table_is_compacted_by_one_commit(tmp_path: Path, compact: Callable[[], Compacted]) -> None:
    for number in range(4):
        write_deltalake(
            str(tmp_path / "events"),
            pa.table({"id": [number, number], "day": ["1", "2"]}),
            mode="append",
            partition_by=["day"],
        )
    did = compact()
    assert (did.files_before, did.files_after) == (8, 2)
    assert DeltaTable(str(tmp_path / "events")).version() == 4
    assert DeltaTable(str(tmp_path / "events")).to_pyarrow_table().num_rows == 8
    assert compact().files_before == 0


def test_the_command_tells_what_was_merged(
    table: LakeTable, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = Writer(table)
    for _ in range(2):
        writer.land()
    monkeypatch.setattr("sys.argv", ["penstock", "lake", "compact", "events", "--lake", table.lake])
    for expected in ("merged 4 files of events into 2", "events has no files to merge"):
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        assert expected in capsys.readouterr().out
