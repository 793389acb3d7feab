"""Prints what arrives, records as key-value pairs and legacy data as raw values, until nothing comes any more."""

from __future__ import annotations

import os
import sys
import time

from penstock import Consumer, ConsumerRecord
from penstock.errors import PenstockError, TopicNotFound

TOPICS = os.environ.get("IN_TOPICS", "count,multiples").split(",")
GROUP = os.environ.get("GROUP", "print")
TIMEOUT = float(os.environ.get("TIMEOUT", "10"))


def print_all() -> None:
    """Print until the time-out; the addresses come from PENSTOCK_BOOTSTRAP and PENSTOCK_REGISTRY."""
    with consumer_when_topics_are_there() as consumer:
        for record in consumer:
            print(f"received from {record.topic}: {described(record)}")
    print(f"nothing more for {TIMEOUT:g} seconds")


def consumer_when_topics_are_there() -> Consumer:
    """A member of the group; whoever sends first creates the topics, so they may be missing for a while."""
    give_up = time.monotonic() + TIMEOUT
    while True:
        try:
            return Consumer(TOPICS, GROUP, timeout=TIMEOUT, on_assigned=say_ready)
        except TopicNotFound:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.5)


def say_ready(_partitions: object) -> None:
    """The group has let us in."""
    print(f"reading {', '.join(TOPICS)}")


def described(record: ConsumerRecord) -> str:
    """Pairs for a record with a schema, and anything else as it is."""
    if record.has_schema:
        return ", ".join(f"{name} = {value}" for name, value in record.value.items())
    return str(record.value)


if __name__ == "__main__":
    try:
        print_all()
    except PenstockError as error:
        print(f"error {error.code}: {error.message}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped")
