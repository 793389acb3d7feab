"""Connection to Apicurio: forward requests and relay answers as streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager

import httpx
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

MAX_BODY = 10_000_000
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OWN = frozenset({"host", "accept-encoding", "date", "server"})


def open_client(url: str) -> httpx.AsyncClient:
    """Create a client with bounded waits and connections. No proxy is used, since Apicurio runs on this machine."""
    return httpx.AsyncClient(
        base_url=url,
        timeout=httpx.Timeout(30, connect=2),
        limits=httpx.Limits(max_connections=100, max_keepalive_connections=20),
        trust_env=False,
        headers={"accept-encoding": "identity"},
    )


async def forward(
    client: httpx.AsyncClient, request: Request, target: str, *, body: bytes | None = None, **headers: str
) -> httpx.Response:
    """Forward the client's request to a path of Apicurio. Pass `body` if the request's body was already read.

    The answer's body remains to be read.
    """
    with told_as_http():
        content = _limited(request) if body is None and _has_body(request) else body
        return await client.send(_translated(client, request, target, headers, content), stream=True)


async def read_request(request: Request) -> bytes:
    """Return the whole body of a request. The size limit applies."""
    return b"".join([chunk async for chunk in _limited(request)])


@contextmanager
def told_as_http() -> Iterator[None]:
    """Translate failures to reach Apicurio into HTTP gateway errors."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise HTTPException(504, "the registry behind this address did not answer in time") from error
    except httpx.ConnectError as error:
        raise HTTPException(503, "the registry behind this address does not answer; it may be starting") from error
    except httpx.TransportError as error:
        raise HTTPException(502, f"the registry behind this address broke the connection: {error}") from error


async def read(answer: httpx.Response) -> bytes:
    """Return the whole body of an answer."""
    with told_as_http():
        return await answer.aread()


def relayed(answer: httpx.Response, content_type: str | None = None) -> Response:
    """Stream the answer unchanged, optionally with a different content type."""
    headers = dict(_end_to_end(answer.headers.multi_items()))
    if content_type:
        headers["content-type"] = content_type
    return StreamingResponse(_chunks(answer), status_code=answer.status_code, headers=headers)


def _translated(
    client: httpx.AsyncClient,
    request: Request,
    target: str,
    own: dict[str, str],
    content: bytes | AsyncIterator[bytes] | None,
) -> httpx.Request:
    headers = {**dict(_end_to_end(request.headers.items())), **own}
    query = request.url.query
    url = f"{target}?{query}" if query else target
    return client.build_request(request.method, url, headers=headers, content=content)


def _has_body(request: Request) -> bool:
    return "content-length" in request.headers or "transfer-encoding" in request.headers


def _end_to_end(headers: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Return the end-to-end headers, without headers set by the HTTP libraries on either side."""
    listed = list(headers)
    named = {name.strip().lower() for key, value in listed if key.lower() == "connection" for name in value.split(",")}
    return [(key, value) for key, value in listed if key.lower() not in _HOP_BY_HOP | _OWN | named]


async def _limited(request: Request) -> AsyncIterator[bytes]:
    _refuse_above_limit(int(request.headers.get("content-length", 0)))
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        _refuse_above_limit(size)
        yield chunk


def _refuse_above_limit(size: int) -> None:
    if size > MAX_BODY:
        raise HTTPException(413, f"the request is larger than {MAX_BODY} bytes")


async def _chunks(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    finally:
        await answer.aclose()
