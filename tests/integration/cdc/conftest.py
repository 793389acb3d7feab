"""Commands against the Kafka Connect of the session, and captures that go when their tests are done."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from penstock.config import Settings
from penstock.connect.captures import remove_capture
from penstock.connect.client import ConnectClient, ConnectorName


@pytest.fixture(autouse=True)
def _connect_is_set(capturing: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CONNECT", capturing.connect)


@pytest.fixture
def capture_name(capturing: Settings) -> Iterator[str]:
    """A name for a capture; one that is left behind is removed."""
    name = f"shop{uuid.uuid4().hex[:8]}"
    yield name
    with ConnectClient(capturing) as client:
        if any(state.name == name for state in client.states()):
            remove_capture(client, ConnectorName(name), None, 30)
