from __future__ import annotations

import json
import re
from typing import Any

import pytest

from penstock.connect.postgres import TableName
from penstock.connect.resnapshot import failure_at_end, snapshot_signal


def told(signal: str, kind: str, **more: str) -> dict[str, Any]:
    return {"id": signal, "type": kind, "additional_data": more}


SCANNED = told("a", "TABLE_SCAN_COMPLETED", total_rows_scanned="12", status="SUCCEEDED")


def test_a_signal_names_its_table_alone() -> None:
    [pattern] = json.loads(snapshot_signal(TableName("public", "Orders-1")).data)["data-collections"]
    assert re.fullmatch(pattern, "public.Orders-1")
    assert not re.fullmatch(pattern, "public_Orders-1")
    [quoted] = json.loads(snapshot_signal(TableName("public", "odd one")).data)["data-collections"]
    assert quoted == '"public"."odd one"'


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([], None),
        ([told("b", "COMPLETED")], None),
        ([told("a", "STARTED"), SCANNED], None),
        ([SCANNED, told("a", "COMPLETED")], ""),
        (
            [told("a", "TABLE_SCAN_COMPLETED", total_rows_scanned="0", status="EMPTY"), told("a", "COMPLETED")],
            "",
        ),
        (
            [told("a", "TABLE_SCAN_COMPLETED", total_rows_scanned="9", status="SQL_EXCEPTION"), told("a", "COMPLETED")],
            "SQL_EXCEPTION",
        ),
        ([told("a", "STARTED"), told("a", "ABORTED")], "ABORTED"),
    ],
)
def test_the_end_of_a_snapshot_is_read_from_what_the_connector_reports(
    reports: list[dict[str, Any]], expected: str | None
) -> None:
    assert failure_at_end("a", iter(reports)) == expected
