"""Tables in an object store: as exact as in a directory, for readers that know nothing of Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyarrow import dataset as ds
from pyspark.sql import SparkSession

from penstock.config import Settings
from penstock.errors import CompactionRefused
from penstock.lake.compaction import compact_table
from penstock.lake.store import open_store
from penstock.spark.hadoop_files import HadoopFiles
from penstock.spark.s3a import s3a_settings
from tests.integration.conftest import CreateTopic, Fill
from tests.integration.spark.test_lake_crashes import crash
from tests.lake_queries import Lake, LakeFormat, events, read_delta


@pytest.fixture
def with_s3(spark: SparkSession, s3_lake: Settings) -> Iterator[Settings]:
    """Let the session of all tests find the store."""
    conf = spark._jsc.hadoopConfiguration()
    given = s3a_settings(s3_lake.s3)
    for name, value in given.items():
        conf.set(name, str(value))
    yield s3_lake
    for name in given:
        conf.unset(name)


@pytest.fixture
def remote(lake: Lake, with_s3: Settings) -> Lake:
    """A lake in a bucket; its state is there too."""
    return lake.but(location=with_s3.lake, state=f"{with_s3.lake}/_penstock/_queries/test")


def ids(remote: Lake, with_s3: Settings) -> list[int]:
    store = open_store(with_s3)
    if remote.format == "delta":
        rows = read_delta(f"{store.delta_uri}/{remote.table}", store.delta_options)
    elif not [file for file in store.below(remote.table) if file.path.endswith(".parquet")]:
        return []
    else:
        rows = ds.dataset(store.full(remote.table), filesystem=store.system).to_table().to_pylist()
    return sorted(row["id"] for row in rows)


SELDOM = ("finished entry", "staging")
"""Steps at which a crash is tried in a directory only, to save time."""


@pytest.mark.timeout(300)
def test_each_event_is_once_in_a_bucket_whatever_dies(
    remote: Lake, with_s3: Settings, lake_format: LakeFormat, create_topic: CreateTopic, fill: Fill
) -> None:
    """Every other driver takes smaller batches, which end inside of what has landed."""
    create_topic(1)
    fill(remote.topic, events(range(4)))
    steps = crash(remote, 0)
    assert ids(remote, with_s3) == list(range(4))
    back = {
        "parquet": ["ledger entry", "first move", "second move", "finished entry", "staging", "position"],
        "delta": ["commit", "position"],
    }[lake_format]
    moments = [len(steps) - len(back) + 1 + index for index, name in enumerate(back) if name not in SELDOM]
    for number, moment in enumerate(moments, start=1):
        fill(remote.topic, events(range(4 * number, 4 * number + 4)))
        taken = crash(remote.but(max_records=3 if number % 2 == 0 else remote.max_records), moment)
        found = ids(remote, with_s3)
        assert len(found) == len(set(found)), taken
    remote.run()
    assert ids(remote, with_s3) == list(range(4 * len(moments) + 4))


def test_an_object_is_created_once(spark: SparkSession, with_s3: Settings) -> None:
    files = HadoopFiles(spark, with_s3.lake)
    path = f"{with_s3.lake}/deep/down/object"
    assert files.create(path, b"one")
    assert not files.create(path, b"two")
    stream = files._new_object(files._path(path))
    stream.write(b"three")
    with pytest.raises(Exception, match="412"):
        stream.close()
    files.write(path, b"four")
    assert files.read(path) == b"four"


@pytest.mark.timeout(300)
def test_a_table_in_a_bucket_is_compacted_if_it_can_be_without_anybody_noticing(
    remote: Lake, with_s3: Settings, lake_format: LakeFormat, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    for number in range(2):
        fill(remote.topic, events(range(2 * number, 2 * number + 2)))
        remote.run()
    if lake_format == "parquet":
        with pytest.raises(CompactionRefused, match="object store"):
            compact_table(with_s3, remote.table)
    else:
        assert compact_table(with_s3, remote.table).files_before == 4
        fill(remote.topic, events(range(4, 6)))
        remote.run()
        assert ids(remote, with_s3) == list(range(6))
