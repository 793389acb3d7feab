"""The collector as its users run it: a process with a settings file, spoken to over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import yaml
from confluent_kafka import Consumer, Message

from penstock.config import Settings
from penstock.kafka.options import client_options
from penstock.local.ports import free_ports

EVENT = {"Event_Type": "ListingView", "Event_Version": "1", "User_ID": "u-1"}
JSON = "application/json"


class CollectorProcess:
    """A running collector."""

    def __init__(self, directory: Path, settings: Settings, section: Mapping[str, Any]) -> None:
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self.log = directory / "collector.log"
        file = directory / "collector.yaml"
        ours = {"ports": {"collector": port}, "collector": dict(section)}
        file.write_text(yaml.safe_dump({"bootstrap": settings.bootstrap, "kafka": dict(settings.kafka), **ours}))
        command = [sys.executable, "-m", "penstock", "--settings", str(file), "collector"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log, cwd=directory)
        self.http = httpx.Client(base_url=self.url, timeout=60)

    def wait_until_up(self, seconds: float = 60) -> None:
        """Wait until it answers."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            assert self.process.poll() is None, self.log.read_text()
            try:
                self.http.get("/healthz")
            except httpx.TransportError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError(f"the collector did not start: {self.log.read_text()}")

    def post(
        self, body: object, path: str = "/events", content_type: str = JSON, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Send a body, as JSON unless it is bytes."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.post(path, content=content, headers={"content-type": content_type, **(headers or {})})

    def metrics(self) -> dict[str, float]:
        """The samples of /metrics by name and labels."""
        lines = (line for line in self.http.get("/metrics").text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def memory(self) -> int:
        """Bytes of memory that the process has."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def stop(self) -> int:
        """End it with SIGTERM; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def close(self) -> None:
        """End it whatever its state."""
        self.http.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)


@contextmanager
def collector(directory: Path, settings: Settings, **section: Any) -> Iterator[CollectorProcess]:
    """A collector with these settings, ended in the end."""
    process = CollectorProcess(directory, settings, section)
    try:
        process.wait_until_up()
        yield process
    finally:
        process.close()


def product_topic() -> dict[str, str]:
    """The settings of a topic for product events."""
    schema = Path(__file__).parent.parent / "src" / "penstock" / "events" / "event.avsc"
    return {"schema": str(schema), "key": "User_ID", "time": "Server_Time"}


def read_topic(settings: Settings, topic: str, count: int, seconds: float = 30) -> list[Message]:
    """What is in a topic: at least so many messages, and whatever follows them within a moment."""
    options = client_options(settings) | {
        "group.id": "tests",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
    }
    consumer = Consumer(options)
    consumer.subscribe([topic])
    found: list[Message] = []
    give_up = time.monotonic() + seconds
    try:
        while len(found) < count and time.monotonic() < give_up:
            found += [message for message in consumer.consume(1000, 0.5) if message.error() is None]
        found += [message for message in consumer.consume(1000, 1.0) if message.error() is None]
    finally:
        consumer.close()
    return found


def headers_of(message: Message) -> dict[str, str]:
    """A message's headers as text."""
    return {name: value.decode() for name, value in message.headers() or [] if isinstance(value, bytes)}
