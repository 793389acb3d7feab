"""Any value can make a folder, or is refused with its reason; a table of files never holds up a pipeline."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from unittest.mock import patch

import pytest

from penstock.errors import ConfigError, QueryInterrupted, RecordInvalid
from penstock.spark.dead_letters import DeadLetters
from penstock.spark.lake import folder_numbers
from penstock.spark.lake.folder_numbers import FolderNumbers
from penstock.spark.queries import batch, narrowing
from penstock.spark.transforms import sql
from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import Lake, dead_letters, event

GOOD = [
    "a/b",
    "..",
    "ü = 100 % [x] {y}",
    "line\nbreak",
    "'quoted' \"twice\"",
    "back\\slash",
    "C:\\",
    "*?",
    " space ",
    "x" * 250,
]
TOO_LONG = ["x" * 251, "/" * 90, "a\0b"]


@pytest.mark.timeout(600)
def test_values_of_any_kind_make_folders_that_readers_understand(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    by_kind = lake.but(partition_by=("kind",))
    fill(lake.topic, [event(number, kind) for number, kind in enumerate([*GOOD, *TOO_LONG])])
    fill(lake.topic, [b'{"id": 50}', b'{"id": 51, "kind": ""}', event(52, "__HIVE_DEFAULT_PARTITION__")])
    by_kind.run()
    found = {row["id"]: row["kind"] for row in by_kind.rows()}
    assert found == {**dict(enumerate(GOOD)), 50: None, 51: None, 52: None}
    letters = dead_letters(lake)
    assert len(letters) == len(TOO_LONG)
    assert all(letter["penstock.error.code"] == "record.transform" for letter in letters)
    assert all("column kind makes a folder" in letter["penstock.error.message"] for letter in letters)


@pytest.mark.parametrize("query", ["SELECT * FROM source", "SELECT kind, id FROM source WHERE id >= 0"])
def test_hundreds_of_values_that_cannot_make_folders_cost_no_search(
    lake: Lake, create_topic: CreateTopic, fill: Fill, query: str
) -> None:
    create_topic(1)
    by_kind = lake.but(partition_by=("kind",), transform=sql(query))
    fill(lake.topic, [event(number, "good" if number % 2 else "x" * 300) for number in range(400)])
    with patch.object(batch, "failing_ranges") as search:
        done = by_kind.run()
    assert not search.called
    assert by_kind.ids() == list(range(1, 400, 2))
    assert len(dead_letters(lake)) == 200
    assert done.counts == (400, 200)


def test_a_message_of_which_one_row_cannot_be_written_stays_out_with_all_its_rows(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    split = sql("SELECT id, explode(split(kind, ',')) AS kind FROM source")
    fill(lake.topic, [event(1, "a,b"), event(2, f"a,{'x' * 300},{'y' * 300}"), event(3, "b")])
    by_kind = lake.but(partition_by=("kind",), transform=split)
    done = by_kind.run()
    assert by_kind.ids() == [1, 1, 3]
    assert [letter["penstock.origin"] for letter in dead_letters(lake)] == [f"{lake.topic}/0/1"]
    assert done.counts == (3, 1)


def test_messages_of_rows_that_cannot_be_written_are_kept_before_the_rest_lands(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    by_kind = lake.but(partition_by=("kind",))
    fill(lake.topic, [event(1, "good"), event(2, "x" * 300)])
    with patch.object(DeadLetters, "write", side_effect=QueryInterrupted("killed")), pytest.raises(QueryInterrupted):
        by_kind.run()
    assert by_kind.ids() == dead_letters(lake) == []
    by_kind.run()
    assert by_kind.ids() == [1]
    assert len(dead_letters(lake)) == 1


def test_with_throw_the_query_stops_at_a_row_that_cannot_be_written(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    fill(lake.topic, [event(1, "good"), event(2, "x" * 300)])
    with pytest.raises(RecordInvalid, match=f"{lake.topic}/0/1 column kind makes a folder"):
        lake.but(partition_by=("kind",), failure_mode="THROW").run()


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_a_transform_that_fails_on_many_messages_ends_in_dead_letters(
    lake: Lake, create_topic: CreateTopic, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrowing.failing_ranges, "__defaults__", (16,))
    create_topic(1)
    by_kind = lake.but(transform=sql("SELECT *, 1 / (id % 3) AS share FROM source"))
    fill(lake.topic, [event(number) for number in range(64)])
    done = by_kind.run()
    letters = dead_letters(lake)
    assert len(letters) + len(by_kind.ids()) == 64
    assert done.counts == (64, len(letters))
    assert all("Division by zero" in letter["penstock.error.message"] for letter in letters)


@pytest.mark.parametrize("lake_format", ["parquet"], indirect=True)
def test_large_batches_are_whole_whether_their_folders_were_seen_before_or_not(
    lake: Lake, create_topic: CreateTopic, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_numbers, "_WORTH", 1)
    create_topic(1)
    batches = [["a/b", "c"], ["c", "a/b"], ["c", "new"], ["d", "c"], ["new", "d"]]
    fill(lake.topic, [event(number, kind) for number, kind in enumerate(chain.from_iterable(batches))])
    by_kind = lake.but(max_records=2, partition_by=("kind",))
    with patch.object(FolderNumbers, "named", autospec=True, side_effect=FolderNumbers.named) as named:
        by_kind.run()
    assert [len(call.args[1]) for call in named.mock_calls] == [2, 2, 2], "the second, the third and the last one"
    assert {row["id"]: row["kind"] for row in by_kind.rows()} == dict(enumerate(chain.from_iterable(batches)))
    assert {path.name for path in Path(by_kind.path).iterdir()} == {"kind=a%2Fb", "kind=c", "kind=new", "kind=d"}


@pytest.mark.parametrize(
    ("partition_by", "reason"),
    [
        (("nothing",), "no column nothing"),
        (("_hidden",), "readers skip names"),
        (("ratio",), "double, which cannot make folders"),
        (("id", "_hidden", "ratio"), "nothing is left for the files"),
    ],
)
def test_columns_that_cannot_make_folders_are_refused(lake: Lake, partition_by: tuple[str, ...], reason: str) -> None:
    wrong = lake.but(ddl="id BIGINT NOT NULL, _hidden STRING, ratio DOUBLE", partition_by=partition_by).query().spec
    with pytest.raises(ConfigError, match=reason):
        wrong.path.sink.check(wrong.path.decoder.schema)
