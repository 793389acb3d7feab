from __future__ import annotations

import pytest

from penstock.connect.server import ServerIdentity, identity_of, notice

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
