from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from penstock.cli.run_view import Rates, StateLines, queries_table, query_line
from penstock.errors import BrokerUnavailable
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import Offsets, PartitionId
from penstock.spark.queries.vitals import LastBatch, LastError, Vitals

PLACE = PartitionId(TopicName("events"), Partition(0))
NOW = datetime(2026, 3, 1, tzinfo=UTC)
RUNNING = Vitals(
    "events",
    "lake-events",
    stage="running",
    started_at=NOW,
    restarts=0,
    batches=2,
    read=1200,
    refused=3,
    position={PLACE: Offset(1200)},
    last_batch=LastBatch(NOW, 600, 3, 0.75),
)
ENDS = {PLACE: Offset(1500)}


def test_a_query_is_a_row_with_its_rate_lag_and_last_error() -> None:
    failed = replace(RUNNING, last_error=LastError.of(BrokerUnavailable("no broker [b] answers"), NOW))
    console = Console(width=200)
    with console.capture() as captured:
        console.print(queries_table([(failed, ENDS)], Rates()))
    row = captured.get().splitlines()[-2].split()
    assert row[:8] == ["events.lake-events", "running", "1,200", "0", "300", "0.75", "s", "3"]
    assert " ".join(row[8:]) == "kafka.unavailable no broker [b] answers"


def test_a_query_is_a_line_elsewhere() -> None:
    line = query_line(RUNNING, ENDS, 120.4)
    assert line == "events.lake-events running: read 1,200, 120/s, lag 300, batch 0.75 s, refused 3"


@pytest.mark.parametrize(
    ("vitals", "ends", "said"),
    [
        ({"stage": "starting"}, {}, "events.lake-events starting: finding out where to go on"),
        ({}, ENDS, "events.lake-events running: reading offsets, 1,500 messages to read"),
        ({}, {PLACE: Offset(0)}, "events.lake-events running: waiting for messages"),
        ({"underway": 200}, ENDS, "events.lake-events running: first batch, 200 of 1,500 messages"),
        ({"underway": 200}, {}, "events.lake-events running: first batch, 200 messages"),
        ({"stage": "waiting"}, ENDS, "events.lake-events waiting: read 0, 0/s, lag 1,500, refused 0"),
    ],
)
def test_a_query_tells_what_it_does_before_its_first_batch_is_done(
    vitals: dict[str, Any], ends: Offsets, said: str
) -> None:
    fresh = replace(RUNNING, batches=0, read=0, refused=0, last_batch=None, position={PLACE: Offset(0)})
    assert query_line(replace(fresh, **vitals), ends, 0) == said


def test_the_first_batch_is_a_line_at_once_and_again_while_it_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    lines, idle = StateLines(), replace(RUNNING, batches=0, read=0, last_batch=None, position={PLACE: Offset(0)})
    for now, vitals in [
        (0.0, idle),
        (20.0, idle),
        (21.0, replace(idle, underway=200)),
        (30.0, replace(idle, underway=200)),
        (31.0, replace(idle, underway=200)),
    ]:
        lines.tell([(vitals, ENDS)], now)
    said = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert said == ["reading offsets, 1,500 messages to read", *["first batch, 200 of 1,500 messages"] * 2]


def test_rates_are_those_of_the_last_ten_seconds() -> None:
    rates = Rates()
    readings = [(0.0, 0), (5.0, 500), (10.0, 1000), (20.0, 1000), (21.0, 1100)]
    assert [rates.of(replace(RUNNING, read=read), now) for now, read in readings] == [
        0,
        100,
        100,
        0,
        pytest.approx(100 / 1),
    ]


def test_lines_are_printed_when_the_state_changes_and_now_and_then_while_it_gets_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = StateLines()
    for now, vitals in [
        (0.0, RUNNING),
        (5.0, replace(RUNNING, read=1300)),
        (11.0, replace(RUNNING, read=1400)),
        (30.0, replace(RUNNING, read=1400)),
        (31.0, replace(RUNNING, read=1400, stage="stopped")),
    ]:
        lines.tell([(vitals, ENDS)], now)
    said = [line.partition(", lag")[0] for line in capsys.readouterr().err.splitlines()]
    assert [line.partition(",")[0] for line in said] == [
        "events.lake-events running: read 1",
        "events.lake-events running: read 1",
        "events.lake-events stopped: read 1",
    ]
