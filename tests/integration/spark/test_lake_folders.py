"""Any value can make a folder, or is refused with its reason; a table of files never holds up a pipeline."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from unittest.mock import patch

import pytest

from penstock.errors import ConfigError
from penstock.spark.lake import folder_numbers
from penstock.spark.lake.folder_numbers import FolderNumbers
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
    fill(lake.topic, [b'{"id": 50}', event(51).replace(b'"click"', b'""').replace(b'"view"', b'""')])
    by_kind.run()
    found = {row["id"]: row["kind"] for row in by_kind.rows()}
    assert found == {**dict(enumerate(GOOD)), 50: None, 51: None}
    letters = dead_letters(lake)
    assert len(letters) == len(TOO_LONG)
    assert all(letter["penstock.error.code"] == "record.transform" for letter in letters)
    assert all("column kind makes a folder" in letter["penstock.error.message"] for letter in letters)


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
