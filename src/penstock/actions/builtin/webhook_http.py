"""HTTP client of webhooks: one request per event, to one address, with a time limit and retryable errors."""

from __future__ import annotations

import hashlib
import hmac
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx

from penstock.actions.builtin.webhook_address import address_problem
from penstock.errors import TargetRefused, TargetUnavailable, UsageError

_TRY_AGAIN = frozenset({408, 425, 429})
_SERVER_ERRORS = 500
_MAX_ANSWER = 64 * 1024
_SHOWN_ANSWER = 200
_CONNECT_SECONDS = 5.0
_MAX_PAUSE = 3600.0
_ADDRESS_HINT = "name the receiver's own"


def check_url(url: str) -> None:
    """Reject invalid URLs, schemes except http and https, and addresses of cloud metadata services."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        raise ValueError("not a URL") from None
    if parts.scheme not in {"http", "https"} or not parts.host:
        raise ValueError("not an http or https URL")
    if problem := address_problem(parts.host):
        raise ValueError(problem)


def _resolved(host: str) -> set[str]:
    with suppress(OSError):
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    return set()


def shown(url: str) -> str:
    """Return the URL without credentials and path: a webhook's path is a secret."""
    parts = httpx.URL(url)
    return f"{parts.scheme}://{parts.netloc.decode('ascii').rpartition('@')[2]}/…"


def signature(secret: str, body: bytes, now: float | None = None) -> str:
    """Return `t=<seconds>,v1=<HMAC-SHA256 of "<seconds>.<body>" in hexadecimal>`."""
    moment = int(time.time() if now is None else now)
    digest = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"


class WebhookHttp:
    """HTTP client for one URL, callable on any thread, with persistent connections."""

    def __init__(
        self, method: str, url: str, headers: dict[str, str], *, timeout: float, ca: Path | None, proxy: str | None
    ) -> None:
        self._method = method
        self._url = url
        self._shown = shown(url)
        for address in _resolved(httpx.URL(url).host):
            if problem := address_problem(address):
                raise UsageError(f"{self._shown} is {problem}", hint=_ADDRESS_HINT)
        self._timeout = timeout
        self._client = httpx.Client(
            headers={"Content-Type": "application/json", "User-Agent": "penstock", **headers},
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            verify=ssl.create_default_context(cafile=str(ca)) if ca else True,
            proxy=proxy,
            follow_redirects=False,
            trust_env=False,
        )

    def send(self, body: bytes, headers: dict[str, str]) -> None:
        """Send a body, and return after a 2xx answer. Raise TargetUnavailable or TargetRefused otherwise."""
        deadline = time.monotonic() + self._timeout
        try:
            checked = {"trace": self._check_connection}
            with self._client.stream(
                self._method, self._url, content=body, headers=headers, extensions=checked
            ) as response:
                answer = _limited(response, deadline)
        except httpx.LocalProtocolError:
            # The error's text quotes the header, which may be a secret.
            raise TargetRefused(f"{self._shown}: the request is not valid HTTP", hint="check the headers") from None
        except (httpx.TransportError, ssl.SSLError) as error:
            reason = str(error) or type(error).__name__
            raise TargetUnavailable(
                f"{self._shown}: {reason}", hint="is the address right, and does it answer?"
            ) from error
        if not response.is_success:
            raise self._failure(response, answer)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _check_connection(self, event: str, info: Mapping[str, Any]) -> None:
        """Close a new connection to a forbidden address before anything is sent.

        A host name may resolve to a different address for each connection.
        """
        if event == "connection.connect_tcp.complete":
            stream = info["return_value"]
            if problem := address_problem(str(stream.get_extra_info("server_addr")[0])):
                stream.close()
                raise TargetRefused(f"{self._shown} is {problem}", hint=_ADDRESS_HINT)

    def _failure(self, response: httpx.Response, answer: bytes) -> TargetRefused | TargetUnavailable:
        status = response.status_code
        said = answer[:_SHOWN_ANSWER].decode("utf-8", "replace").strip()
        message = f"{self._shown} answers {status}" + (f": {said}" if said else "")
        if status in _TRY_AGAIN or status >= _SERVER_ERRORS:
            return TargetUnavailable(message, retry_after=retry_after(response.headers.get("retry-after")))
        hint = "redirects are not followed: name the final address" if response.is_redirect else ""
        return TargetRefused(message, hint=hint, status=status)


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the pause requested by a Retry-After header, which holds seconds or a date."""
    if value is None:
        return None
    try:
        seconds = float(value) if value.strip().isdecimal() else _until(value, now or datetime.now(UTC))
    except (ValueError, TypeError):
        return None
    return min(max(seconds, 0.0), _MAX_PAUSE)


def _until(date: str, now: datetime) -> float:
    return (parsedate_to_datetime(date) - now).total_seconds()


def _limited(response: httpx.Response, deadline: float) -> bytes:
    """Return the beginning of the answer. A slow or endless answer is abandoned."""
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > _MAX_ANSWER or time.monotonic() > deadline:
            break
    return bytes(body)
