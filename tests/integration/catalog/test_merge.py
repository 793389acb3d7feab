from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from penstock.catalog.database import Database
from penstock.catalog.intake import take
from penstock.catalog.staging.rows import StagedRow
from penstock.catalog.staging.tables import (
    COMPACTION,
    DISTCP,
    FILE_AUDIT,
    JOB_EXECUTION,
    LUMOS,
    METADATA_CHANGE,
    METASTORE_AUDIT,
    TableName,
)
from tests.integration.catalog.events import (
    change,
    copy,
    empty,
    execution,
    fields,
    final_tables,
    load,
    owners,
    row,
    rows_of,
    take_each,
    urn,
)

Event = tuple[TableName, StagedRow]


def test_a_dataset_appears_with_what_was_said_of_it(database: Database) -> None:
    said = {"description": "views", "properties": {"team": "web"}, "tags": ["pii"], "deprecated": True}
    take(database, METADATA_CHANGE, [change(1000, **said)])
    [found] = rows_of(
        database, "SELECT urn, platform, name, origin, description, properties, status, deprecated FROM dataset"
    )
    assert found == (urn(), "hive", "tracking.PageViewEvent", "PROD", "views", {"team": "web"}, "active", True)
    assert rows_of(database, "SELECT tag FROM dataset_tag") == [("pii",)]


def test_each_version_of_a_schema_has_the_difference_to_the_one_before(database: Database) -> None:
    take_each(
        database,
        METADATA_CHANGE,
        [
            change(1000, schema_fields=fields("id", "page")),
            change(2000, schema_fields=fields("id", "page")),
            change(3000, schema_fields=fields(id="long", url="string")),
        ],
    )
    first, second = rows_of(database, "SELECT version, diff FROM dataset_schema ORDER BY version")
    assert [item["path"] for item in first[1]["added"]] == ["id", "page"]
    assert [item["path"] for item in second[1]["added"]] == ["url"]
    assert [item["path"] for item in second[1]["removed"]] == ["page"]
    [modified] = second[1]["modified"]
    assert (modified["before"]["type"], modified["after"]["type"]) == ("string", "long")


def test_a_late_schema_takes_its_place_in_the_history_and_not_at_its_end(database: Database) -> None:
    late = change(2000, schema_fields=fields("id", "page"))
    take_each(
        database,
        METADATA_CHANGE,
        [change(1000, schema_fields=fields("id")), change(3000, schema_fields=fields("url")), late],
    )
    found = rows_of(
        database, "SELECT version, extract(epoch FROM valid_from)::int, fields FROM dataset_schema ORDER BY 1"
    )
    assert [(version, at, [item["path"] for item in said]) for version, at, said in found] == [
        (1, 1, ["id"]),
        (2, 2, ["id", "page"]),
        (3, 3, ["url"]),
    ]


def test_owners_are_valid_from_the_first_word_to_the_first_without_them(database: Database) -> None:
    take_each(
        database,
        METADATA_CHANGE,
        [
            change(1000, owners=owners("ann", "bob")),
            change(2000, owners=owners("bob")),
            change(3000, owners=owners("ann", "bob")),
        ],
    )
    query = """SELECT substring(owner, 17), extract(epoch FROM valid_from)::int, extract(epoch FROM valid_to)::int
               FROM dataset_owner ORDER BY owner, valid_from"""
    assert rows_of(database, query) == [("ann", 1, 2), ("ann", 3, None), ("bob", 1, None)]


def test_what_somebody_said_prevails_over_the_metastore_and_files(database: Database) -> None:
    take(database, METASTORE_AUDIT, [metastore(5000, "ALTER_TABLE", owner="hive", location="/data/x")])
    query = "SELECT substring(owner, '[^:]+$') FROM dataset_current_owner"
    assert rows_of(database, query) == [("hive",)]
    take(database, METADATA_CHANGE, [change(1000, owners=owners("ann"), properties={"location": "/data/y"})])
    assert rows_of(database, query) == [("ann",)]
    assert rows_of(database, "SELECT properties FROM dataset") == [({"location": "/data/y"},)]


def test_the_newest_word_says_whether_a_dataset_is_there(database: Database) -> None:
    status = "SELECT status FROM dataset"
    take(database, METADATA_CHANGE, [change(1000)])
    take(database, METASTORE_AUDIT, [metastore(3000, "DROP_TABLE")])
    assert rows_of(database, status) == [("removed",)]
    take(database, METADATA_CHANGE, [change(2000)])
    assert rows_of(database, status) == [("removed",)]
    take(database, METASTORE_AUDIT, [metastore(4000, "CREATE_TABLE")])
    assert rows_of(database, status) == [("active",)]


def test_a_failed_metastore_operation_changes_nothing(database: Database) -> None:
    take(database, METASTORE_AUDIT, [metastore(3000, "DROP_TABLE", is_successful=False)])
    assert rows_of(database, "SELECT count(*) FROM dataset") == [(0,)]


def test_the_newest_event_on_a_partition_counts(database: Database) -> None:
    take_each(
        database, COMPACTION, [load(2000, "2016/07/10", 20), load(1000, "2016/07/10", 10), load(500, "2016/07/09", 5)]
    )
    query = "SELECT partition_expr, data_time::date::text, record_count FROM dataset_load_status ORDER BY 1"
    assert rows_of(database, query) == [("2016/07/09", "2016-07-09", 5), ("2016/07/10", "2016-07-10", 20)]


def test_two_events_of_one_dataset_in_the_same_millisecond_are_both_kept(database: Database) -> None:
    take(database, COMPACTION, [load(1000, "2016/07/10/01", 1), load(1000, "2016/07/10/02", 2)])
    assert rows_of(database, "SELECT count(*) FROM dataset_load_status") == [(2,)]


@pytest.mark.parametrize(
    ("partition", "moment"),
    [
        ("2016/07/10/02", "2016-07-10 02:00:00+00"),
        ('["2016-07-10-00"]', "2016-07-10 00:00:00+00"),
        ("datepartition=2016-07-10", "2016-07-10 00:00:00+00"),
        ("1460000000000-PT-12", "2016-04-07 03:33:20+00"),
        ("2016/02/31", "2016-03-02 00:00:00+00"),
        ("999999999999x", "2001-09-09 01:46:39.999+00"),
        ("2016/07/105", None),
        ("", None),
    ],
)
def test_the_time_of_a_partition_is_read_from_its_name(database: Database, partition: str, moment: str | None) -> None:
    take(database, COMPACTION, [load(1000, partition)])
    assert rows_of(database, "SELECT data_time::text FROM dataset_load_status") == [(moment,)]


def test_copies_and_jobs_make_lineage_without_partitions_or_circles_of_one(database: Database) -> None:
    take(database, DISTCP, [copy(1000, "hdfs://a/data/y/daily/2016/07/10", "/data/x/daily/2016/07/10")])
    take(database, DISTCP, [copy(1000, "hdfs://a/data/z/hourly/2016/07/10/00", "hdfs://b/data/z/hourly/2016/07/10/00")])
    take(
        database,
        JOB_EXECUTION,
        [execution(1000, "SUCCEEDED"), execution(2000, "FAILED", output_datasets=[urn("lost")])],
    )
    query = "SELECT downstream_urn, upstream_urn, kind FROM dataset_lineage ORDER BY 1"
    assert rows_of(database, query) == [
        (urn("/data/x", "hdfs"), urn("/data/y", "hdfs"), "COPY"),
        (urn("out"), urn("in"), "TRANSFORMED"),
    ]


def test_an_execution_has_the_status_of_its_newest_event_and_its_widest_times(database: Database) -> None:
    took = [execution(2000, "SUCCEEDED", end_time=1900), execution(1000, "RUNNING", start_time=900)]
    take_each(database, JOB_EXECUTION, took)
    query = "SELECT status, extract(epoch FROM end_time - start_time)::float FROM job_execution"
    assert rows_of(database, query) == [("SUCCEEDED", 1.0)]


def metastore(at: int, kind: str, **values: Any) -> StagedRow:
    given = {
        "server": "s",
        "instance": "i",
        "app_name": "a",
        "event_name": "MetastoreTableAuditEvent",
        "event_type": kind,
    }
    table = {"db_name": "tracking", "table_name": "PageViewEvent", "time_partition": "?", "is_successful": True}
    return row(**{**given, **table, "log_event_time": at, **values})


# Few names, moments and values, so that events meet each other.
_moments = st.integers(1, 6).map(lambda second: second * 1000)
_names = st.sampled_from(["a.b", "a.c"])
_paths = st.lists(st.sampled_from(["id", "page", "url"]), unique=True).map(lambda paths: fields(*paths))
_owners = st.lists(st.sampled_from(["ann", "bob"]), unique=True).map(lambda names: owners(*names))
_said = st.fixed_dictionaries(
    {},
    optional={
        "schema_fields": _paths,
        "owners": _owners,
        "tags": st.lists(st.sampled_from(["t", "u"])),
        "properties": st.dictionaries(st.sampled_from(["k", "l"]), st.integers(0, 2)),
        "description": st.sampled_from(["d", "e"]),
        "deprecated": st.booleans(),
        "upstreams": st.lists(_names.map(urn)),
        "source": st.sampled_from(["change", "penstock"]),
        "change_type": st.sampled_from(["UPSERT", "DELETE"]),
    },
)
_changes = st.builds(lambda at, name, said: change(at, name=name, **said), _moments, _names, _said)
_tables = st.builds(
    lambda at, kind, owner: metastore(at, kind, db_name="a", table_name="b", owner=owner, location=f"/{owner}"),
    _moments,
    st.sampled_from(["CREATE_TABLE", "ALTER_TABLE", "DROP_TABLE"]),
    st.sampled_from(["ann", "root", ""]),
)
_partitions = st.builds(
    lambda at, kind: metastore(at, kind, event_name="MetastorePartitionAuditEvent", time_partition="2016-07-10"),
    _moments,
    st.sampled_from(["ADD_PARTITION", "ALTER_PARTITION", "DROP_PARTITION"]),
)
_loads = st.builds(load, _moments, st.sampled_from(["2016/07/10", "x"]), st.integers(0, 3))
_lumos = st.builds(
    lambda at, day: row(
        cluster="c", dataset="/db", location="/l", partition_type="snapshot", partition_name=day, log_event_time=at
    ),
    _moments,
    st.sampled_from(["1460000000000-PT-1", None]),
)
_copies = st.builds(copy, _moments, st.sampled_from(["/data/c", "/data/d"]), st.just("/data/c/daily/2016/07/10"))
_runs = st.builds(
    execution, _moments, st.sampled_from(["RUNNING", "SUCCEEDED"]), start_time=st.none() | st.integers(1, 9)
)
_files = st.builds(
    lambda at, owner: row(dataset="/data/c", owner=owner, properties={"owner": owner}, log_event_time=at),
    _moments,
    st.sampled_from(["ann", "root"]),
)
_events: st.SearchStrategy[list[Event]] = st.lists(
    st.one_of(
        st.tuples(st.just(table), rows)
        for table, rows in (
            (METADATA_CHANGE, _changes),
            (METADATA_CHANGE, _changes),
            (METASTORE_AUDIT, _tables | _partitions),
            (COMPACTION, _loads),
            (LUMOS, _lumos),
            (DISTCP, _copies),
            (JOB_EXECUTION, _runs),
            (FILE_AUDIT, _files),
        )
    ),
    min_size=4,
    max_size=10,
)


@pytest.mark.timeout(600)
@settings(
    max_examples=8 * int(os.environ.get("ROUNDS", "1")),
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(events=_events, data=st.data())
def test_any_order_batching_and_repetition_of_events_gives_the_same_tables(
    database: Database, events: list[Event], data: st.DataObject
) -> None:
    empty(database)
    take_together(database, events)
    together = final_tables(database)
    empty(database)
    repeated = events + data.draw(st.lists(st.sampled_from(events), max_size=4) if events else st.just([]))
    for table, each in data.draw(st.permutations(repeated)):
        take(database, table, [each])
    assert final_tables(database) == together


def take_together(database: Database, events: Iterable[Event]) -> None:
    by_table: dict[TableName, list[StagedRow]] = {}
    for table, each in events:
        by_table.setdefault(table, []).append(each)
    for table, rows in by_table.items():
        assert [str(refusal.error) for refusal in take(database, table, rows)] == []
