"""HTTP client for a registry with one or more URLs, with a total time limit per request."""

from __future__ import annotations

import ssl
import time
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx

from penstock.config import Settings
from penstock.config.http_header import header_value_problem
from penstock.config.secrets import hide
from penstock.errors import ConfigError, Problem, RegistryRefused, RegistryUnavailable

_MAX_BODY = 16 * 1024 * 1024
_CONNECT_SECONDS = 5.0
_WAITS = (0.0, 0.1, 0.3, 0.9)
_TRY_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_START_HINT = "is a registry running there? `penstock up` starts one, PENSTOCK_REGISTRY names another"
_CA_HINT = "name the certificate authority's PEM file with PENSTOCK_REGISTRY_CA"


class Answer(NamedTuple):
    """Answer to one request. `url` contains no secrets."""

    url: str
    status: int
    content_type: str
    body: bytes


class RegistryHttp:
    """Tries the URLs in order, starting with the last successful URL, and retries transient failures.

    A request takes no longer than the setting `timeout`, regardless of the number of URLs and the kind of failures.
    """

    def __init__(self, settings: Settings) -> None:
        self._urls = _urls(settings.registry)
        self._timeout = settings.timeout
        self._client = httpx.Client(
            auth=_basic_auth(settings), headers=_headers(settings), verify=_tls(settings), follow_redirects=False
        )
        weakref.finalize(self, self._client.close)

    @property
    def address(self) -> str:
        """Return the URLs without secrets."""
        return ", ".join(hide("registry", url) for url in self._urls)

    def deadline(self) -> float:
        """Return the deadline for requests starting now. Related requests share a deadline."""
        return time.monotonic() + self._timeout

    def request(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        params: Mapping[str, str] | None = None,
        deadline: float | None = None,
    ) -> Answer:
        """Return the first answer that is not a transient failure.

        Raise RegistryUnavailable with every URL that was tried.
        """
        deadline = self.deadline() if deadline is None else deadline
        failures: dict[str, str] = {}
        for url in self._attempts(deadline):
            request = self._client.build_request(method, url + path, json=json, params=params)
            try:
                answer = self._ask(request, deadline)
            except httpx.LocalProtocolError:
                # The text of the error quotes the header, which may be a secret.
                raise RegistryRefused(f"{hide('registry', url)}: the request is not valid HTTP") from None
            except httpx.TransportError as error:
                failures[hide("registry", url)] = str(error) or type(error).__name__
                continue
            if answer.status not in _TRY_AGAIN:
                self._prefer(url)
                return answer
            failures[answer.url] = f"HTTP {answer.status}"
        raise _unavailable(failures or {self.address: "its time is over"}, f"{method} {path}")

    def _attempts(self, deadline: float) -> Iterator[str]:
        for wait in _WAITS:
            time.sleep(max(0.0, min(wait, deadline - time.monotonic())))
            for url in tuple(self._urls):
                if time.monotonic() >= deadline:
                    return
                yield url

    def _ask(self, request: httpx.Request, deadline: float) -> Answer:
        share = max(0.05, (deadline - time.monotonic()) / len(self._urls))
        request.extensions["timeout"] = httpx.Timeout(share, connect=min(share, _CONNECT_SECONDS)).as_dict()
        response = self._client.send(request, stream=True)
        shown = hide("registry", str(request.url))
        try:
            body = _limited_body(response, shown, deadline)
        finally:
            response.close()
        return Answer(shown, response.status_code, response.headers.get("content-type", ""), body)

    def _prefer(self, url: str) -> None:
        if self._urls[0] != url:
            self._urls = (url, *(other for other in self._urls if other != url))


def _urls(setting: str) -> tuple[str, ...]:
    urls = tuple(url.strip().rstrip("/") for url in setting.split(",") if url.strip())
    wrong = [url for url in urls if not _is_http(url)]
    if wrong or not urls:
        shown = ", ".join(hide("registry", url) for url in wrong) or "nothing"
        raise ConfigError(
            [Problem("registry", f"{shown} is not an http or https URL", "such as http://localhost:8081")]
        )
    return urls


def _is_http(url: str) -> bool:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.host)


def _basic_auth(settings: Settings) -> httpx.BasicAuth | None:
    if settings.registry_user is None:
        return None
    password = settings.registry_password
    return httpx.BasicAuth(settings.registry_user, password.get_secret_value() if password else "")


def _headers(settings: Settings) -> dict[str, str]:
    accept = {"Accept": "application/vnd.schemaregistry.v1+json, application/json;q=0.9, text/plain;q=0.5"}
    if settings.registry_token is None or settings.registry_user is not None:
        return accept
    token = settings.registry_token.get_secret_value()
    if problem := header_value_problem(token):
        raise ConfigError([Problem("registry_token", f"the token {problem}")])
    return {**accept, "Authorization": f"Bearer {token}"}


def _tls(settings: Settings) -> ssl.SSLContext | bool:
    if settings.registry_ca is None and settings.registry_certificate is None:
        return True
    context = _trusting(settings.registry_ca)
    if settings.registry_certificate is not None:
        _show(context, settings.registry_certificate, settings.registry_key)
    return context


def _trusting(authority: Path | None) -> ssl.SSLContext:
    if authority is None:
        return httpx.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=str(authority))
    except (OSError, ssl.SSLError) as error:
        raise ConfigError([Problem("registry_ca", f"{authority} is not a readable PEM file: {error}")]) from error


def _show(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    """Load the client certificate that identifies this client to the registry."""
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ssl.SSLError) as error:
        message = f"{certificate} with the key in {key or 'the same file'} cannot be used: {error}"
        raise ConfigError([Problem("registry_certificate", message)]) from error


def _no_password() -> str:
    """Return an empty password, so that OpenSSL does not ask for a key's password on the terminal."""
    return ""


def _limited_body(response: httpx.Response, shown: str, deadline: float) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > _MAX_BODY:
            raise RegistryRefused(f"{shown} answers with more than {_MAX_BODY} bytes", hint="is it a schema registry?")
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the answer took too long")
    return bytes(body)


def _unavailable(failures: dict[str, str], tried: str) -> RegistryUnavailable:
    reasons = "; ".join(f"{url}: {reason}" for url, reason in failures.items())
    return RegistryUnavailable(
        f"no registry answers: {reasons}",
        hint=_CA_HINT if "CERTIFICATE" in reasons else _START_HINT,
        tried=tried,
        urls=list(failures),
    )
