"""Kafka Connect's REST interface, the one place that speaks HTTP to it; its failures become ours here."""

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
    """One Kafka Connect cluster; a request that meets a rebalance is made again within the setting `timeout`."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.connect.rstrip("/")
        self._timeout = settings.timeout
        if not self._url.startswith(("http://", "https://")):
            raise ConfigError([Problem("connect", f"{hide('connect', self._url)} is not an http or https URL")])
        self._http = httpx.Client(timeout=settings.timeout)

    def __enter__(self) -> Self:
        """Use the client in a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._http.close()

    @property
    def address(self) -> str:
        """The URL as it may be shown."""
        return hide("connect", self._url)

    def plugins(self) -> set[str]:
        """The classes of the connectors that the cluster can run."""
        return {plugin["class"] for plugin in self._ask("GET", "/connector-plugins")}

    def states(self) -> list[ConnectorState]:
        """Every connector as it is now, by name."""
        found: dict[str, Any] = self._ask("GET", "/connectors?expand=info&expand=status")
        return [state_of(found[name]["info"], found[name]["status"]) for name in sorted(found)]

    def state(self, name: ConnectorName) -> ConnectorState:
        """One connector as it is now."""
        return state_of(self._ask("GET", _path(name)), self._status(name))

    def put(self, name: ConnectorName, settings: ConnectorSettings) -> None:
        """Make the connector, or give it other settings."""
        self._ask("PUT", f"{_path(name)}/config", dict(settings))

    def restart(self, name: ConnectorName) -> None:
        """Restart the connector and all its tasks."""
        self._ask("POST", f"{_path(name)}/restart?includeTasks=true&onlyFailed=false")

    def stop(self, name: ConnectorName) -> None:
        """End the connector's tasks, and keep the connector; clusters before Kafka 3.5 cannot."""
        self._ask("PUT", f"{_path(name)}/stop")

    def resume(self, name: ConnectorName) -> None:
        """Let a stopped connector go on."""
        self._ask("PUT", f"{_path(name)}/resume")

    def forget(self, name: ConnectorName) -> None:
        """Remove the positions of a stopped connector, so that its next one begins anew; from Kafka 3.6 on."""
        self._ask("DELETE", f"{_path(name)}/offsets")

    def delete(self, name: ConnectorName) -> None:
        """Remove the connector from the cluster."""
        self._ask("DELETE", _path(name))

    def topics(self, name: ConnectorName) -> list[str]:
        """The topics that the connector has written to since it was made."""
        return sorted(self._ask("GET", f"{_path(name)}/topics")[name]["topics"])

    def _status(self, name: ConnectorName) -> Mapping[str, Any]:
        """The status, which a connector that was made a moment ago does not have yet."""
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
    """Whether the workers are about to share out their work anew; the status alone does not always tell."""
    return answer.status_code == HTTPStatus.CONFLICT or (answer.is_server_error and "rebalance" in answer.text)


def _path(name: ConnectorName) -> str:
    return f"/connectors/{quote(name, safe='')}"


def _content(answer: httpx.Response, address: str, path: str) -> Any:  # noqa: ANN401 - as above
    """What was answered, or the refusal as one of our errors."""
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
