from datetime import UTC, datetime

from penstock.lake.inventory import folders, inventory
from penstock.lake.store import StoredFile

COMMIT = "d/_delta_log/00000000000000000000.json"


def file(path: str) -> StoredFile:
    return StoredFile(path, 10, datetime(2026, 1, 1, tzinfo=UTC))


def test_tables_are_found_by_their_files_at_any_depth() -> None:
    files = ["events/Event_Type=View/Day=1/a.parquet", "shop/orders/b.parquet", "shop/c.parquet", COMMIT]
    found = inventory(map(file, files))
    assert [(name, table.is_delta, len(table.data)) for name, table in found.items()] == [
        ("d", True, 0),
        ("events", False, 1),
        ("shop", False, 1),
        ("shop/orders", False, 1),
    ]


def test_hidden_files_other_files_and_files_outside_of_a_table_are_no_data() -> None:
    files = ["events/_tmp/a.parquet", "events/k=1/.b.parquet", "events/k=1/_c/d.parquet", "events/e.csv", "f.parquet"]
    assert inventory(map(file, files)) == {}


def test_notes_and_ledgers_tell_of_a_table_and_its_writers() -> None:
    files = [
        "_penstock/shop/orders/table.json",
        "_penstock/shop/orders/queries/orders.lake/ledger/1.json",
        "_penstock/shop/orders/queries/orders.lake/staging/7/a.parquet",
    ]
    (table,) = inventory(map(file, files)).values()
    assert (table.name, table.writers, table.data) == ("shop/orders", {"orders.lake"}, [])
    assert [(query, entry.path) for query, entry in table.ledger] == [("orders.lake", files[1])]


def test_state_without_data_or_notes_is_no_table() -> None:
    assert inventory([file("_penstock/gone/queries/q/ledger/1.json")]) == {}


def test_folders_are_pairs_of_column_and_value() -> None:
    assert folders("Event_Type=a=b/x/Day=1/f=2.parquet") == (("Event_Type", "a=b"), ("Day", "1"))


def test_a_delta_table_that_was_cut_off_in_its_first_commit_is_none() -> None:
    assert inventory(map(file, ["d/a.parquet", "d/_delta_log/.00000000000000000000.json.tmp"])) == {}
