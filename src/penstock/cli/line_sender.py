"""Sender of JSON lines. Each rejected or undelivered line is reported."""

from __future__ import annotations

from enum import Enum
from typing import IO

from penstock import Producer
from penstock.cli.json_lines import Line, LineReader, read_lines
from penstock.cli.output import err, text
from penstock.cli.rate import RateMeter
from penstock.errors import DeliveryFailed, PenstockError, RecordError
from penstock.events.record import Receipt


class Mode(Enum):
    """Send mode of records."""

    FIRE = "fire"
    SYNC = "sync"
    ASYNC = "async"


class LineSender:
    """Sends lines in any of three modes. `refused` and `failed` collect the numbers of failed lines."""

    def __init__(
        self, producer: Producer, reader: LineReader, mode: Mode, headers: list[tuple[str, str]], *, stop: bool
    ) -> None:
        self._producer = producer
        self._reader = reader
        self._mode = mode
        self._headers = headers or None
        self._stop = stop
        self.refused: list[int] = []
        self.failed: list[int] = []

    def send_all(self, stream: IO[bytes], meter: RateMeter) -> None:
        """Send every line, or stop at the first rejected line."""
        for line in read_lines(stream):
            try:
                self._send(line)
            except (RecordError, DeliveryFailed) as error:
                self.refused.append(line.number)
                _tell(line, "refused", error)
                if self._stop:
                    err.print("[bold]hint[/]  stopped there; --on-error skip leaves such lines out and goes on")
                    return
            else:
                meter.tick(len(line.text))

    def _send(self, line: Line) -> None:
        key, value = self._reader.read(line)

        def on_delivery(outcome: Receipt | PenstockError) -> None:
            if isinstance(outcome, PenstockError):
                self.failed.append(line.number)
                _tell(line, "not delivered", outcome)

        match self._mode:
            case Mode.FIRE:
                self._producer.send(value, key=key, headers=self._headers)
            case Mode.SYNC:
                self._producer.send_sync(value, key=key, headers=self._headers)
            case Mode.ASYNC:
                self._producer.send_async(value, key=key, headers=self._headers, on_delivery=on_delivery)


def _tell(line: Line, what: str, error: PenstockError) -> None:
    err.print(f"[bold red]line {line.number:,}[/] {what}: {text(error.message)}")
