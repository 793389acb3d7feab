"""Counts up and sends each number as a record of a schema, which is registered for the topic."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from penstock import Producer
from penstock.errors import PenstockError

TOPIC = os.environ.get("OUT_TOPIC", "count")
SCHEMA = Path(os.environ.get("OUT_SCHEMA") or Path(__file__).parent / "schemas" / "count.avsc")
COUNT = int(os.environ.get("COUNT", "10"))
INTERVAL = float(os.environ.get("INTERVAL", "0.5"))
WRONG = os.environ.get("WRONG", "") not in {"", "0"}


def count_up() -> None:
    """Send the numbers from 0 on; the addresses come from PENSTOCK_BOOTSTRAP and PENSTOCK_REGISTRY."""
    with Producer(TOPIC, SCHEMA) as producer:
        for number in range(COUNT):
            producer.send({"count": f"number {number}" if WRONG else number})
            print(f"sent count {number} to {TOPIC}")
            time.sleep(INTERVAL)


if __name__ == "__main__":
    try:
        count_up()
    except PenstockError as error:
        print(f"error {error.code}: {error.message}", file=sys.stderr)
        sys.exit(error.exit_code)
