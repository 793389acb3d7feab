"""Removing a connector from clusters that can forget its positions, and from those that cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import pytest

from penstock.config import load_settings
from penstock.connect import captures
from penstock.connect.captures import Removed, add_capture, remove_capture
from penstock.connect.client import ConnectClient, ConnectorName
from penstock.connect.debezium import Capture
from penstock.errors import ConnectUnavailable, OperationTimedOut

SETTINGS = load_settings(env={}).settings
SHOP = ConnectorName("shop")
DONE = ["PUT /connectors/shop/stop", "DELETE /connectors/shop/offsets", "DELETE /connectors/shop"]


@dataclass
class Cluster:
    """A cluster with one connector, whose task takes a few looks to end."""

    looks_until_stopped: int = 2
    refuses: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        call = f"{request.method} {request.url.path}"
        if request.method == "GET":
            return httpx.Response(200, json=self._told(request.url.path))
        self.asked.append(call)
        if call in self.refuses:
            return httpx.Response(self.refuses[call], json={"error_code": self.refuses[call], "message": "no"})
        return httpx.Response(204)

    def _told(self, path: str) -> object:
        if path == "/connector-plugins":
            return [{"class": "a.Connector"}]
        if not path.endswith("/status"):
            return {"name": SHOP, "config": {"connector.class": "a.Connector"}}
        self.looks_until_stopped -= bool(self.asked)
        tasks = [{"id": 0, "state": "RUNNING"}] if self.looks_until_stopped > 0 else []
        return {"connector": {"state": "STOPPED" if self.asked else "RUNNING"}, "tasks": tasks}


Remove = Callable[[Cluster], Removed]


@contextmanager
def client_of(cluster: Cluster) -> Iterator[ConnectClient]:
    with ConnectClient(SETTINGS) as client, httpx.Client(transport=httpx.MockTransport(cluster.answer)) as http:
        client._http = http
        yield client


@pytest.fixture
def remove(monkeypatch: pytest.MonkeyPatch) -> Remove:
    monkeypatch.setattr(captures, "_LOOK_SECONDS", 0.001)

    def removed(cluster: Cluster) -> Removed:
        with client_of(cluster) as client:
            return remove_capture(client, SHOP, None, timeout=0.2)

    return removed


def test_positions_are_forgotten_after_the_last_task_has_ended(remove: Remove) -> None:
    cluster = Cluster()
    assert remove(cluster) == Removed()
    assert cluster.asked == DONE
    assert cluster.looks_until_stopped == 0


@pytest.mark.parametrize("status", [404, 405])
@pytest.mark.parametrize("call", DONE[:2])
def test_a_cluster_that_cannot_forget_removes_the_connector_and_says_so(remove: Remove, call: str, status: int) -> None:
    cluster = Cluster(refuses={call: status})
    assert remove(cluster).still_known.endswith(": no")
    assert cluster.asked[-1] == DONE[-1]


def test_a_connector_stays_while_its_tasks_do_not_end_or_the_cluster_fails(remove: Remove) -> None:
    endless, failing = Cluster(looks_until_stopped=10**9), Cluster(refuses={DONE[1]: 500})
    with pytest.raises(OperationTimedOut, match="does not stop"):
        remove(endless)
    with pytest.raises(ConnectUnavailable):
        remove(failing)
    assert DONE[-1] not in [*endless.asked, *failing.asked]


def test_a_connector_whose_removal_was_cut_off_goes_on_when_it_is_added_again() -> None:
    cluster = Cluster()
    with client_of(cluster) as client:
        add_capture(client, SETTINGS, Capture(SHOP, ("shop.*",)), "other://db", {"connector.class": "a.Connector"})
    assert cluster.asked == ["PUT /connectors/shop/config", "PUT /connectors/shop/resume"]
