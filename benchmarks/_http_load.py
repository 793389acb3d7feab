"""Load over HTTP: wrk where it is installed, or else a slower stand-in in Python."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from urllib.parse import urlsplit

CONNECTIONS = 32
WRK = shutil.which("wrk")

_SCRIPT = """
local bodies = {{}}
for line in io.lines("{file}") do bodies[#bodies + 1] = line end
local number = 0
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
request = function()
  number = number % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[number])
end
done = function(summary, latency)
  io.write(string.format("\\nRESULT %d %d %d %d\\n", summary.requests, summary.duration,
    latency:percentile(99), summary.errors.status + summary.errors.timeout + summary.errors.read))
end
"""


class Load(NamedTuple):
    """What a server bore: requests a second, and the time within which 99 of 100 were answered."""

    rate: float
    p99_ms: float


def post(url: str, bodies: list[bytes], seconds: float) -> Load:
    """Send the bodies in turn over many connections, for so long; any answer but success ends the benchmark."""
    send = _wrk if WRK else _stand_in
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "bodies"
        file.write_bytes(b"".join(body + b"\n" for body in bodies))
        requests, duration, p99, errors = send(url, file, seconds)
    if errors:
        sys.exit(f"{errors} requests to {url} failed")
    return Load(requests / duration, p99 * 1000)


def tell_which() -> None:
    """Say which tool makes the load, and how to get the better one."""
    if not WRK:
        print("  wrk is not installed (Debian: apt-get install wrk): a slower stand-in takes a core from the servers")


def _wrk(url: str, file: Path, seconds: float) -> tuple[float, float, float, int]:
    script = file.with_suffix(".lua")
    script.write_text(_SCRIPT.format(file=file))
    options = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds:.0f}s", "--timeout", "30s", "-s", str(script)]
    told = subprocess.run([str(WRK), *options, url], capture_output=True, text=True, check=True).stdout
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+)", told)
    if found is None:
        sys.exit(f"wrk said: {told}")
    requests, micros, p99, errors = map(int, found.groups())
    return requests, micros / 1e6, p99 / 1e6, errors


def _stand_in(url: str, file: Path, seconds: float) -> tuple[float, float, float, int]:
    """Runs in a process of its own, as wrk does."""
    command = [sys.executable, __file__, url, str(file), str(seconds)]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return told["requests"], told["seconds"], told["p99"], told["errors"]


async def _connection(url: str, bodies: list[bytes], until: float, times: list[float]) -> int:
    parts, errors, number = urlsplit(url), 0, 0
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = f"POST {parts.path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: "
    requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
    while perf_counter() < until:
        started = perf_counter()
        writer.write(requests[number % len(requests)])
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer)
        await reader.readexactly(int(length[1]) if length else 0)
        times.append(perf_counter() - started)
        errors += not answer.startswith(b"HTTP/1.1 200")
        number += 1
    writer.close()
    return errors


async def _main(url: str, file: Path, seconds: float) -> None:
    bodies, times, started = file.read_bytes().splitlines(), [], perf_counter()  # noqa: ASYNC240 - before any load
    errors = await asyncio.gather(*[_connection(url, bodies, started + seconds, times) for _ in range(CONNECTIONS)])
    p99 = sorted(times)[int(len(times) * 0.99)]
    told = {"requests": len(times), "seconds": perf_counter() - started, "p99": p99, "errors": sum(errors)}
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
