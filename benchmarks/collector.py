"""Events over HTTP until all replicas have them: the collector against FastAPI with aiokafka, one worker each."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import yaml
from _common import compare, own_topic
from _http_load import CONNECTIONS, Load, post, tell_which

from penstock.config import Settings, load_settings
from penstock.local.ports import free_ports

GOAL = 2.5
P99_GOAL_MS = 50.0
SECONDS = float(os.environ.get("SECONDS", "4"))
BATCH = 100
SCHEMA = Path(__file__).parent.parent / "src" / "penstock" / "events" / "event.avsc"


def events(count: int) -> list[dict[str, str]]:
    """Believable events of many users, the same ones in every run."""
    dice = random.Random(1)
    return [
        {
            "Event_Type": dice.choice(["ListingView", "Click", "Search", "Purchase"]),
            "Event_Version": "1",
            "User_ID": f"user-{dice.randrange(10**6):06}",
            "Listing_ID": f"listing-{dice.randrange(10**6):06}",
            "Server_Time": f"2026-01-31T12:00:00.{dice.randrange(1000):03}Z",
            "Device_Type": dice.choice(["ios", "android", "web"]),
        }
        for _ in range(count)
    ]


SINGLE = [json.dumps(event).encode() for event in events(100)]
BATCHES = [json.dumps(events(BATCH * 20)[start : start + BATCH]).encode() for start in range(0, BATCH * 20, BATCH)]


class Measured:
    """Events a second of one server under one kind of load, and the p99 of each round."""

    def __init__(self, url: str, bodies: list[bytes], per_request: int) -> None:
        self._send = partial(post, url, bodies)
        self._per_request = per_request
        self.loads: list[Load] = []
        self._send(1)

    def __call__(self) -> float:
        """One round."""
        self.loads.append(self._send(SECONDS))
        return self.loads[-1].rate * self._per_request

    @property
    def p99_ms(self) -> float:
        """The median of the rounds' p99."""
        return statistics.median(load.p99_ms for load in self.loads)


@contextmanager
def served(command: list[str], port: int, **environment: str) -> Iterator[str]:
    """A server as a process; its address, once it answers."""
    process = subprocess.Popen(
        command, env=os.environ | environment, cwd=Path(__file__).parent, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url)
        yield url
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def servers(settings: Settings) -> Iterator[tuple[str, str]]:
    """The peer and the collector, each with a topic of its own."""
    peer_port, own_port = free_ports(2)
    with (
        own_topic(settings, 1) as peer_topic,
        own_topic(settings, 1) as topic,
        tempfile.TemporaryDirectory() as directory,
    ):
        file = Path(directory) / "penstock.yaml"
        file.write_text(yaml.safe_dump(_settings(settings, topic, own_port)))
        uvicorn = ["uvicorn", "_fastapi_peer:app", "--port", str(peer_port), "--loop", "uvloop", "--http", "httptools"]
        peer = [sys.executable, "-m", *uvicorn, "--no-access-log", "--log-level", "error"]
        ours = [sys.executable, "-m", "penstock", "--settings", str(file), "collector"]
        environment = {"PEER_TOPIC": peer_topic, "PENSTOCK_BOOTSTRAP": settings.bootstrap}
        with served(peer, peer_port, **environment) as one, served(ours, own_port) as other:
            yield one, other


def _settings(settings: Settings, topic: str, port: int) -> dict[str, object]:
    taken = {"schema": str(SCHEMA), "key": "User_ID", "time": "Server_Time"}
    section = {"topic": topic, "topics": {topic: taken}}
    return {"bootstrap": settings.bootstrap, "ports": {"collector": port}, "collector": section}


def _wait_for(url: str) -> None:
    for _ in range(300):
        try:
            httpx.get(url)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    sys.exit(f"nothing answers at {url}")


def main() -> int:
    """Compare single events and batches; the exit code says whether both ratios and the p99 hold."""
    settings = load_settings().settings
    tell_which()
    missed = 0
    with servers(settings) as (peer, ours):
        for name, bodies, path, count in (
            ("one event", SINGLE, "/one", 1),
            (f"{BATCH} events", BATCHES, "/many", BATCH),
        ):
            print(f"  {name} a POST, {CONNECTIONS} connections")
            theirs, own = Measured(peer + path, bodies, count), Measured(f"{ours}/events", bodies, count)
            missed += compare({"FastAPI + aiokafka": theirs}, {"penstock collector": own}, goal=GOAL)
            print(f"  p99 {own.p99_ms:.0f} ms, goal below {P99_GOAL_MS:.0f} ms; the peer's {theirs.p99_ms:.0f} ms")
            missed += own.p99_ms >= P99_GOAL_MS
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
