"""Sends multiples as bare text, without a schema and without Penstock: a legacy system that knows only Kafka."""

from __future__ import annotations

import os
import sys
import time

from confluent_kafka import Producer

BOOTSTRAP = os.environ.get("PENSTOCK_BOOTSTRAP", "localhost:9092")
TOPIC = os.environ.get("OUT_TOPIC", "multiples")
COUNT = int(os.environ.get("COUNT", "10"))
INTERVAL = float(os.environ.get("INTERVAL", "0.5"))
FACTOR = int(os.environ.get("FACTOR", "3"))
TIMEOUT = 30.0


def send_multiples() -> int:
    """Send the multiples of a factor; how many could not be delivered."""
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "log_level": 2})
    for number in range(COUNT):
        producer.produce(TOPIC, str(number * FACTOR))
        print(f"sent {number * FACTOR} to {TOPIC}")
        time.sleep(INTERVAL)
    return producer.flush(TIMEOUT)


if __name__ == "__main__":
    missing = send_multiples()
    if missing:
        print(f"error: {missing} messages were not delivered to {BOOTSTRAP}", file=sys.stderr)
        sys.exit(1)
