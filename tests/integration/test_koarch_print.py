from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from penstock import Producer
from penstock.config import Settings

PRINT = Path(__file__).parents[2] / "examples" / "koarch" / "print.py"
COUNT = PRINT.parent / "schemas" / "count.avsc"


def printed(settings: Settings, *topics: str) -> subprocess.CompletedProcess[str]:
    addresses = {"PENSTOCK_BOOTSTRAP": settings.bootstrap, "PENSTOCK_REGISTRY": settings.registry}
    own = {"IN_TOPICS": ",".join(topics), "GROUP": topics[0], "TIMEOUT": "1"}
    command = [sys.executable, str(PRINT)]
    environment = {**os.environ, **addresses, **own}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_records_are_printed_as_pairs_and_legacy_data_raw_until_the_time_out(
    create_topic: Any, fill: Any, settings: Settings, topic: str
) -> None:
    counts, multiples = create_topic(name=f"{topic}-count"), create_topic(name=f"{topic}-multiples")
    with Producer(counts, COUNT, settings=settings) as producer:
        producer.send({"count": 7})
    fill(multiples, [b"21"])
    finished = printed(settings, counts, multiples)
    assert finished.returncode == 0, finished.stderr
    received = {line for line in finished.stdout.splitlines() if line.startswith("received")}
    assert received == {f"received from {counts}: count = 7", f"received from {multiples}: b'21'"}
    assert finished.stdout.endswith("nothing more for 1 seconds\n")


def test_topics_that_never_appear_are_told(settings: Settings, topic: str) -> None:
    finished = printed(settings, topic)
    assert finished.returncode == 1
    assert finished.stderr.startswith(f"error kafka.topic_not_found: there is no topic '{topic}'")
