"""Rejected events as they are kept: as they came, with the reason, who sent them and when."""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import PenstockError
from penstock.events.record import Offset, Origin, Partition, TopicName
from penstock.kafka.acknowledged import OutgoingRecord

PIPELINE = "collector"

_NOWHERE = (Partition(-1), Offset(-1))
_MAX_HEADER = 1000


class Sender(NamedTuple):
    """Who sent a request, so that a broken release of an app can be found."""

    client: str
    address: str
    agent: str


def dead_letter(
    text: bytes, error: PenstockError, *, topic: TopicName, dead_letters: str, event_id: str, sender: Sender, now: str
) -> OutgoingRecord:
    """The record for a rejected event; it never was in its topic, so its origin has no partition and offset."""
    told = {
        "penstock.error.code": error.code,
        "penstock.error.message": error.message,
        "penstock.pipeline": PIPELINE,
        "penstock.failed_at": now,
        "penstock.origin": str(Origin(topic, *_NOWHERE)),
        "penstock.event_id": event_id,
        "penstock.received_at": now,
        "penstock.client": sender.client,
        "penstock.client.address": sender.address,
        "penstock.client.agent": sender.agent,
    }
    return dead_letters, text, None, [(name, _header(value)) for name, value in told.items()]


def _header(value: str) -> bytes:
    return value.encode("utf-8", "replace")[:_MAX_HEADER]
