"""HTTP server for `/healthz` and `/metrics`."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from prometheus_client import ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import CollectorRegistry

from penstock.actions.metrics import ActionMetrics, Readings
from penstock.actions.vitals import Vitals
from penstock.errors import PenstockError, PortInUse, UsageError

_SECONDS = 10


def serve_health(readings: Readings, port: int, host: str) -> Callable[[], None]:
    """Serve on background threads. Return the function that stops the server; raise PortInUse if the port is taken."""
    registry = CollectorRegistry()
    registry.register(ActionMetrics(readings))
    ProcessCollector(registry=registry)
    handler = type("Handler", (_Handler,), {"readings": staticmethod(readings), "registry": registry})
    try:
        server = (_ServerOnIpv6 if ":" in host else ThreadingHTTPServer)((host, port), handler)
    except OSError as error:
        raise _refused(error, host, port) from error
    thread = Thread(target=server.serve_forever, name="penstock-health", daemon=True)
    thread.start()

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return close


class _ServerOnIpv6(ThreadingHTTPServer):
    address_family = socket.AF_INET6


def _refused(error: OSError, host: str, port: int) -> PenstockError:
    if error.errno == errno.EADDRINUSE:
        hint = "stop the program that has it, or choose another with --metrics-port"
        return PortInUse(f"port {port} on {host} is in use", hint=hint)
    hint = "metrics_host is an address of this machine, metrics_port a port that you may open"
    return UsageError(f"health cannot be served on {host}:{port}: {error.strerror}", hint=hint)


class _Handler(BaseHTTPRequestHandler):
    """Handler of GET requests. `serve_health` sets its attributes."""

    readings: Readings
    registry: CollectorRegistry
    timeout = _SECONDS

    def do_GET(self) -> None:
        """Answer a probe or a Prometheus scrape."""
        path = self.path.partition("?")[0]
        if path == "/healthz":
            status, body = health(list(self.readings()))
            self._answer(status, "application/json", json.dumps(body).encode())
        elif path == "/metrics":
            self._answer(HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(self.registry))
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"GET /healthz or /metrics\n")

    def log_message(self, *_words: object) -> None:
        """Log nothing: probes arrive every few seconds."""

    def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def health(vitals: list[Vitals]) -> tuple[HTTPStatus, dict[str, Any]]:
    """Return the answer to a probe: 503 with the reasons as soon as one pipeline is dead or stuck."""
    troubles = {f"{each.pipeline}.{each.worker}": each.trouble for each in vitals if each.trouble is not None}
    stages = {f"{each.pipeline}.{each.worker}": each.stage for each in vitals}
    status = HTTPStatus.SERVICE_UNAVAILABLE if troubles else HTTPStatus.OK
    return status, {"status": "trouble" if troubles else "ok", "pipelines": stages, "troubles": troubles}
