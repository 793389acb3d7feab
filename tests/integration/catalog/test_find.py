from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from penstock.catalog.database import Database
from penstock.catalog.find.dataset import resolve, view
from penstock.catalog.find.lineage import walk
from penstock.catalog.find.loads import series
from penstock.catalog.find.search import search
from penstock.catalog.intake import take
from penstock.catalog.staging.tables import COMPACTION, JOB_EXECUTION, METADATA_CHANGE
from penstock.config import Settings
from penstock.errors import UsageError
from tests.conftest import RunCommand
from tests.integration.catalog.events import change, fields, load, owners, row, urn

DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("pageview", ["tracking.PageViewEvent"]),
        ("view page", ["tracking.PageViewEvent"]),
        ("PageView", ["tracking.PageViewEvent"]),
        ("member_id", ["tracking.PageViewEvent"]),
        ("ann", ["sales.orders", "tracking.PageViewEvent"]),
        ("pii", ["sales.orders"]),
        ("orders", ["sales.orders", "sales.lines"]),
        ("orders bob", ["sales.lines"]),
        ("gone", ["was.gone"]),
        ("nothing", []),
    ],
)
def test_datasets_are_found_by_names_fields_owners_and_tags(database: Database, text: str, names: list[str]) -> None:
    take(
        database,
        METADATA_CHANGE,
        [
            change(1, schema_fields=fields("member_id"), owners=owners("ann")),
            change(1, name="sales.orders", owners=owners("ann"), tags=["urn:li:tag:pii"]),
            change(1, name="sales.lines", schema_fields=fields("orders"), owners=owners("bob")),
            change(1, name="was.gone", change_type="DELETE"),
        ],
    )
    with database.transaction() as connection:
        found = [item.name for item in search(connection, text)]
    assert found == names


def test_signs_alone_cannot_be_searched_for(database: Database) -> None:
    with database.transaction() as connection, pytest.raises(UsageError, match="no word"):
        search(connection, "!&|'--")


def test_a_dataset_is_found_by_urn_or_name_unless_two_have_it(database: Database) -> None:
    rows = [change(1, name="a.b"), change(1, urn=urn("a.b", "kafka")), change(1, name="c.d")]
    take(database, METADATA_CHANGE, rows)
    with database.transaction() as connection:
        assert resolve(connection, "C.D") == urn("c.d")
        assert resolve(connection, urn("a.b")) == urn("a.b")
        with pytest.raises(UsageError, match="the name of 2 datasets"):
            resolve(connection, "a.b")
        with pytest.raises(LookupError, match="no dataset nowhere"):
            resolve(connection, "nowhere")


def test_a_view_has_the_history_of_schema_and_owners(database: Database) -> None:
    take(database, METADATA_CHANGE, [change(1, schema_fields=fields("a"), owners=owners("ann"))])
    take(database, METADATA_CHANGE, [change(2, schema_fields=fields("b"), owners=owners("bob"))])
    with database.transaction() as connection:
        found = view(connection, urn())
    assert [item["path"] for item in found.fields] == ["b"]
    assert [version["version"] for version in found.schemas] == [2, 1]
    assert [(owner["owner"], owner["counts"]) for owner in found.owners] == [
        ("urn:li:corpuser:bob", True),
        ("urn:li:corpuser:ann", False),
    ]


def test_lineage_is_walked_as_far_as_asked_and_circles_end(database: Database) -> None:
    for number, (upstream, downstream) in enumerate(["ab", "bc", "ca"]):
        job = {
            "application": "x",
            "flow_name": "f",
            "job_name": str(number),
            "execution_id": "1",
            "status": "SUCCEEDED",
        }
        data = {"input_datasets": [urn(upstream)], "output_datasets": [urn(downstream)]}
        take(database, JOB_EXECUTION, [row(**job, **data, log_event_time=1)])
    with database.transaction() as connection:
        assert [step.far for step in walk(connection, urn("b"), "up", 2)] == [urn("a"), urn("c")]
        assert [step.far for step in walk(connection, urn("a"), "down", 1)] == [urn("b")]
        assert {step.far for step in walk(connection, urn("a"), "down", 20)} == {urn("a"), urn("b"), urn("c")}


def test_loads_that_are_overdue_or_shrank_are_known(database: Database) -> None:
    rows = [load(day * DAY, f"1970/01/{day + 1:02}", 100, dataset="/data/late") for day in range(5)]
    rows += [load(day * DAY, f"1970/01/{day + 1:02}", 100 - 60 * (day == 9), dataset="/data/ok") for day in range(10)]
    take(database, COMPACTION, rows)
    now = datetime(1970, 1, 10, tzinfo=UTC) + timedelta(hours=30)
    with database.transaction() as connection:
        found = {item.name: (item.is_late(now), item.has_shrunk) for item in series(connection)}
    assert found == {"/data/late": (True, False), "/data/ok": (False, True)}


def test_the_commands_show_what_is_known(
    database: Database, catalog_settings: Settings, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_DATABASE", catalog_settings.database.get_secret_value())
    said = {"schema_fields": fields("member_id"), "owners": owners("ann"), "tags": ["pii"], "upstreams": [urn("a.b")]}
    take(database, METADATA_CHANGE, [change(1000, **said)])
    take(database, COMPACTION, [load(day * DAY, f"1970/01/{day + 1:02}", 7) for day in range(3)])

    assert "tracking.PageViewEvent hive active ann pii" in run_command("catalog", "search", "page", "view").lines
    [found] = json.loads(run_command("catalog", "search", "member", "--json").out)
    assert found["urn"] == urn()
    shown = run_command("catalog", "show", "tracking.pageviewevent").lines
    assert "member_id string yes" in shown
    assert f"comes from {urn('a.b')}" in shown
    assert (
        "urn:li:corpuser:ann DATAOWNER change 1970-01-01 00:00:01 yes" in run_command("catalog", "owners", urn()).lines
    )
    lineage = json.loads(run_command("catalog", "lineage", "a.b", "--json").out)
    assert [step["far"] for step in lineage["downstream"]] == [urn()]
    assert "/data/e c1 compact 1970-01-03 00:00:00 1970/01/03 7 late" in run_command("catalog", "loads", "--late").lines
    assert run_command("catalog", "loads", "--late", "--as-of", "1970-01-03T00:00Z").lines == ["no load is late"]
    assert run_command("catalog", "show", "nowhere").code == 1
    assert run_command("catalog", "migrate").lines == ["the tables are up to date"]
