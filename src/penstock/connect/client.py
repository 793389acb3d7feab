"""Client of Kafka Connect's REST interface. No other module talks to Connect.

Failures become `PenstockError`s.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, NewType, Self
from urllib.parse import quote

import httpx

from penstock.config import Settings
from penstock.config.secrets import hide
from penstock.connect.state import UNASSIGNED, ConnectorState, state_of
from penstock.errors import ConfigError, ConnectorNotFound, ConnectRefused, ConnectUnavailable, Problem

ConnectorName = NewType("ConnectorName", str)
ConnectorSettings = Mapping[str, str]

_WAIT_SECONDS = 0.5
_SHOWN = 2_000
_START_HINT = "is Kafka Connect running there? `penstock up --cdc` starts one, PENSTOCK_CONNECT names another"


class ConnectClient:
    """Client of a Kafka Connect cluster.

    A request rejected because of a rebalance is retried for up to the setting `timeout`.
    """

    def __init__(self, settings: Settings) -> None:
        self._url = settings.connect.rstrip("/")
        self._timeout = settings.timeout
        if not self._url.startswith(("http://", "https://")):
            raise ConfigError([Problem("connect", f"{hide('connect', self._url)} is not an http or https URL")])
        self._http = httpx.Client(timeout=settings.timeout)

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._http.close()

    @property
    def address(self) -> str:
        """The URL with secrets hidden."""
        return hide("connect", self._url)

    def plugins(self) -> set[str]:
        """Return the connector classes installed in the cluster."""
        return {plugin["class"] for plugin in self._ask("GET", "/connector-plugins")}

    def states(self) -> list[ConnectorState]:
        """Return the state of every connector, sorted by name."""
        found: dict[str, Any] = self._ask("GET", "/connectors?expand=info&expand=status")
        return [state_of(found[name]["info"], found[name]["status"]) for name in sorted(found)]

    def state(self, name: ConnectorName) -> ConnectorState:
        """Return the current state of a connector."""
        return state_of(self._ask("GET", _path(name)), self._status(name))

    def put(self, name: ConnectorName, settings: ConnectorSettings) -> None:
        """Create the connector, or change its settings."""
        self._ask("PUT", f"{_path(name)}/config", dict(settings))

    def restart(self, name: ConnectorName) -> None:
        """Restart the connector and all its tasks."""
        self._ask("POST", f"{_path(name)}/restart?includeTasks=true&onlyFailed=false")

    def stop(self, name: ConnectorName) -> None:
        """Stop the connector's tasks but keep the connector. Requires Kafka 3.5."""
        self._ask("PUT", f"{_path(name)}/stop")

    def resume(self, name: ConnectorName) -> None:
        """Resume a stopped connector."""
        self._ask("PUT", f"{_path(name)}/resume")

    def forget(self, name: ConnectorName) -> None:
        """Delete the offsets of a stopped connector, so that its successor starts over. Requires Kafka 3.6."""
        self._ask("DELETE", f"{_path(name)}/offsets")

    def delete(self, name: ConnectorName) -> None:
        """Delete the connector from the cluster."""
        self._ask("DELETE", _path(name))

    def topics(self, name: ConnectorName) -> list[str]:
        """Return the topics written by the connector since its creation."""
        return sorted(self._ask("GET", f"{_path(name)}/topics")[name]["topics"])

    def _status(self, name: ConnectorName) -> Mapping[str, Any]:
        """Return the status, which is missing for a moment after a connector is created."""
        try:
            found: Mapping[str, Any] = self._ask("GET", f"{_path(name)}/status")
        except ConnectorNotFound:
            return {"connector": {"state": UNASSIGNED}, "tasks": []}
        return found

    def _ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - any JSON response
        deadline = time.monotonic() + self._timeout
        while True:
            answer = self._send(method, path, body)
            if not _is_rebalancing(answer) or time.monotonic() >= deadline:
                return _content(answer, self.address, path)
            time.sleep(_WAIT_SECONDS)

    def _send(self, method: str, path: str, body: object) -> httpx.Response:
        try:
            return self._http.request(method, self._url + path, json=body)
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise ConnectUnavailable(f"{self.address} does not answer: {reason}", hint=_START_HINT) from error


def _is_rebalancing(answer: httpx.Response) -> bool:
    """Whether the workers are rebalancing. The HTTP status alone is not always conclusive."""
    return answer.status_code == HTTPStatus.CONFLICT or (answer.is_server_error and "rebalance" in answer.text)


def _path(name: ConnectorName) -> str:
    return f"/connectors/{quote(name, safe='')}"


def _content(answer: httpx.Response, address: str, path: str) -> Any:  # noqa: ANN401 - as above
    """Return the content of a response, or raise the matching error."""
    if answer.is_success and not answer.content:
        return None
    try:
        content = answer.json()
    except ValueError as error:
        raise ConnectRefused(f"{address} does not answer as Kafka Connect", hint=_START_HINT) from error
    if answer.is_success:
        return content
    reason = str(content.get("message", content) if isinstance(content, dict) else content)[:_SHOWN].strip()
    if answer.status_code == HTTPStatus.NOT_FOUND and path.startswith("/connectors/"):
        raise ConnectorNotFound(f"{address}: {reason}", hint="`penstock cdc list` shows what is there")
    if answer.status_code == HTTPStatus.CONFLICT or answer.is_server_error:
        raise ConnectUnavailable(f"{address}: {reason}", hint="look into the worker's log, or try again")
    raise ConnectRefused(f"{address}: {reason}", hint="correct the setting that is named")
