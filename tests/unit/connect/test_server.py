from __future__ import annotations

import json

import pytest

from penstock.connect.server import (
    Here,
    Newest,
    ServerIdentity,
    identity_of,
    notice,
    position_of,
    refuse_lost_log,
    refuse_other_server,
)
from penstock.errors import DatabaseUnfit

HERE = ServerIdentity("7412", 1)


@pytest.mark.parametrize("text", ["", "7412", "x/1", "7412/", "7412/1/2"])
def test_what_is_no_identity_is_none(text: str) -> None:
    assert ServerIdentity.parse(text) is None


def test_an_identity_is_read_as_it_was_written() -> None:
    assert identity_of({"penstock.server": str(HERE)}) == HERE
    assert identity_of({}) is None


def test_another_server_and_another_timeline_are_announced() -> None:
    assert notice("shop", HERE, HERE) == notice("shop", None, HERE) == notice("shop", HERE, None) == ""
    assert "another server (system 7412, this is 9)" in notice("shop", HERE, ServerIdentity("9", 1))
    assert "restored or failed over (timeline 1, now 2)" in notice("shop", HERE, ServerIdentity("7412", 2))


def test_topics_of_another_server_or_of_positions_beyond_the_log_are_refused() -> None:
    now = Here(HERE, end=1000)
    assert refuse_other_server("shop", Newest((HERE,), 1000), HERE, now) == ""
    assert "failed over" in refuse_other_server("shop", Newest((ServerIdentity("7412", 2),), 5), None, now)
    with pytest.raises(DatabaseUnfit, match="another server"):
        refuse_other_server("shop", Newest((ServerIdentity("9", 1),), 5), HERE, now)
    with pytest.raises(DatabaseUnfit, match="beyond the end of the server's log"):
        refuse_other_server("shop", Newest((), 1001), None, Here(None, end=1000))


def test_rows_are_not_sent_again_while_the_log_ends_before_changes_that_a_failover_lost() -> None:
    refuse_lost_log("shop", 1000, 1000)
    with pytest.raises(DatabaseUnfit, match="mirrors would ignore") as refused:
        refuse_lost_log("shop", 1001, 1000)
    assert "> 1001" in (refused.value.hint or "")


def test_the_position_of_a_change_is_read_from_its_source_alone() -> None:
    row = {"text": '"source":{"lsn":9}'}
    payload = {"before": None, "after": row, "source": {"db": "d", "lsn": 42, "xmin": None}}
    change = json.dumps({"payload": payload}, separators=(",", ":")).encode()
    assert position_of(change) == 42
    assert position_of(b'{"source":{"lsn":null}}') == position_of(b"") == position_of(b"\x00\x00") == 0
