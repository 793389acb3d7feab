"""What the shop's demo says of both sides while traffic runs."""

from __future__ import annotations

from penstock.cli.demo.shop_board import Counts
from penstock.cli.demo.shop_sides import TABLES


def test_a_line_tells_both_sides_of_every_table() -> None:
    counts = Counts()
    counts.in_database |= {"customers": 1200, "orders": 7}
    counts.in_lake |= {"customers": 1199}
    assert counts.line() == "customers 1,199 of 1,200 · products 0 of 0 · orders 0 of 7 · order_lines 0 of 0"


def test_the_lake_is_a_mirror_once_it_has_something_of_every_table() -> None:
    counts = Counts(in_lake=dict.fromkeys(TABLES, 1))
    assert counts.mirrored
    counts.in_lake["orders"] = 0
    assert not counts.mirrored
