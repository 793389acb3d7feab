import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import uvicorn

from penstock.collector import limits
from penstock.collector.app import make_app
from penstock.collector.config import CollectorSettings
from penstock.collector.limits import MAX_HEAD, LimitedRequests
from penstock.collector.topics import load_topics
from penstock.config import load_settings
from penstock.config.listening import SERVER_OPTIONS

AWAY = load_settings(env={}, options={"bootstrap": "127.0.0.1:9"}).settings
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST /events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\nnope"
CONNECTIONS = 3


class Connection:
    """A client that sends what it likes, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self) -> tuple[int, dict[str, str], Any]:
        head = (await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), 5)).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        body = await self._reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), headers, json.loads(body)

    async def ask(self, data: bytes) -> tuple[int, dict[str, str], Any]:
        await self.send(data)
        return await self.answer()

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    async def is_closed(self) -> bool:
        return await asyncio.wait_for(self._reader.read(), 5) == b""


Connect = Callable[[], Awaitable[Connection]]


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A collector's worker in this process, with few connections; Kafka is away."""
    collector = CollectorSettings()
    config = uvicorn.Config(
        make_app(AWAY, collector, load_topics(collector)),
        http=LimitedRequests,
        limit_concurrency=CONNECTIONS,
        **SERVER_OPTIONS,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        yield listener.getsockname()[1]
        server.should_exit = True
        await serving


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads may take half a second."""
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.5)


@pytest.fixture
async def connect(port: int) -> AsyncIterator[Connect]:
    """Opens connections, which are closed in the end."""
    opened: list[Connection] = []

    async def one() -> Connection:
        opened.append(Connection(*await asyncio.open_connection("127.0.0.1", port)))
        return opened[-1]

    yield one
    for each in opened:
        await each.close()


async def test_one_connection_too_many_is_refused_in_our_words_and_closed(connect: Connect) -> None:
    served = [await connect() for _ in range(CONNECTIONS)]
    for each in served:
        assert (await each.ask(HEALTH))[0] == 200
    one_more = await connect()
    status, headers, body = await one_more.ask(POST)
    assert status == 503
    assert headers["retry-after"]
    assert body["error"]["code"] == "request.busy"
    assert await one_more.is_closed()
    assert (await served[0].ask(POST))[0] == 400


async def test_health_is_told_to_one_connection_too_many(connect: Connect) -> None:
    served = [await connect() for _ in range(CONNECTIONS)]
    for each in served:
        assert (await each.ask(HEALTH))[0] == 200
    one_more = await connect()
    status, headers, _ = await one_more.ask(HEALTH)
    assert (status, headers["connection"]) == (200, "close")
    assert await one_more.is_closed()


@pytest.mark.parametrize("end", [b"\r\n\r\n", b""])
@pytest.mark.parametrize("path", [b"/events", b"/docs"])
async def test_a_head_that_is_too_large_is_answered_with_431_whether_it_ends_or_not(
    connect: Connect, path: bytes, end: bytes
) -> None:
    connection = await connect()
    await connection.send(b"POST %s HTTP/1.1\r\nhost: x\r\n" % path)
    await asyncio.sleep(0.05)
    status, _, body = await connection.ask(b"x-large: " + b"x" * (MAX_HEAD + 100) + end)
    assert status == 431
    assert body["error"]["code"] == "request.head_too_large"
    assert await connection.is_closed()


async def test_a_large_head_and_a_larger_body_are_taken(connect: Connect) -> None:
    connection = await connect()
    for _ in range(2):
        head = b"POST /events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-large: %s\r\n" % (
            b"x" * (MAX_HEAD - 140)
        )
        status, _, body = await connection.ask(head + b"content-length: 300000\r\n\r\n" + b"x" * 300_000)
        assert (status, body["error"]["code"]) == (400, "request.not_json")


@pytest.mark.usefixtures("hurry")
async def test_a_head_that_does_not_end_is_answered_with_408(connect: Connect) -> None:
    connection = await connect()
    assert (await connection.ask(HEALTH))[0] == 200
    await connection.send(b"POST /events HTTP/1.1\r\n")
    dripping = asyncio.create_task(drip(connection))
    status, _, body = await connection.answer()
    dripping.cancel()
    assert (status, body["error"]["code"]) == (408, "request.too_slow")


async def drip(connection: Connection) -> None:
    while True:
        await asyncio.sleep(0.05)
        await connection.send(b"x: y\r\n")


@pytest.mark.usefixtures("hurry")
async def test_a_connection_that_says_nothing_is_closed(connect: Connect) -> None:
    assert await (await connect()).is_closed()


@pytest.mark.usefixtures("hurry")
async def test_the_rest_of_a_body_that_was_answered_already_is_not_waited_for(connect: Connect) -> None:
    connection = await connect()
    head = b"POST /topics/none HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n"
    assert (await connection.ask(head))[0] == 404
    assert await connection.is_closed()


@pytest.mark.usefixtures("hurry")
async def test_a_connection_in_use_stays_open(connect: Connect) -> None:
    connection = await connect()
    for _ in range(15):
        assert (await connection.ask(HEALTH))[0] == 200
        await asyncio.sleep(0.1)


async def test_what_is_not_http_is_told_so_in_our_words(connect: Connect) -> None:
    status, _, body = await (await connect()).ask(b"hello\r\n\r\n")
    assert (status, body["error"]["code"]) == (400, "request.not_http")


CHUNKED = b"POST /events HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("endless", [b"x-more: %s\r\n" % (b"y" * 8_000), b"y" * 8_000])
async def test_the_trailers_of_a_chunked_body_are_limited(connect: Connect, endless: bytes) -> None:
    connection = await connect()
    await connection.send(CHUNKED + b"4\r\nnope\r\n0\r\nx-first: ")
    sent = 0
    with suppress(ConnectionError):
        while sent < 50 * MAX_HEAD:
            await connection.send(endless)
            await asyncio.sleep(0)
            sent += len(endless)
    assert sent < 50 * MAX_HEAD


async def test_trailers_are_no_headers(connect: Connect) -> None:
    connection = await connect()
    trailers = b"content-encoding: unknown\r\nx-forwarded-for: 10.0.0.1\r\n"
    status, _, body = await connection.ask(CHUNKED + b"4\r\nnope\r\n0\r\n" + trailers + b"\r\n")
    assert (status, body["error"]["code"]) == (400, "request.not_json")
    assert (await connection.ask(HEALTH))[0] == 200


async def test_a_body_in_small_chunks_is_taken(connect: Connect) -> None:
    connection = await connect()
    for _ in range(2):
        await connection.send(CHUNKED)
        for _ in range(100):
            await connection.send(b"1;%s\r\nx\r\n" % (b"e" * 2_000))
        status, _, body = await connection.ask(b"0\r\n\r\n")
        assert (status, body["error"]["code"]) == (400, "request.not_json")


@pytest.mark.usefixtures("hurry")
async def test_a_client_that_never_reads_is_disconnected(port: int) -> None:
    description = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n"
    loop, deaf = asyncio.get_running_loop(), socket.socket()
    with deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        await loop.sock_connect(deaf, ("127.0.0.1", port))
        await asyncio.wait_for(_until_refused(loop, deaf, description * 1_000), 10)


async def _until_refused(loop: asyncio.AbstractEventLoop, deaf: socket.socket, requests: bytes) -> None:
    """Send and read nothing until the other side has ended the connection."""
    with suppress(ConnectionError):
        await loop.sock_sendall(deaf, requests)
        while True:
            await asyncio.sleep(0.1)
            await loop.sock_sendall(deaf, b"GET")


@pytest.mark.usefixtures("hurry")
async def test_a_client_that_reads_slowly_gets_its_answer(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_000)
    writer.write(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    read = b""
    while piece := await reader.read(1_000):
        read += piece
        await asyncio.sleep(0.02)
    assert read.endswith(b"}")
    writer.close()
