"""Dead letters of the collector: the event as received, with reason, sender and time."""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import PenstockError
from penstock.events.dead_letter import ERROR_CODE, ERROR_MESSAGE, FAILED_AT, ORIGIN, PIPELINE, header_text
from penstock.events.record import Offset, Origin, Partition, TopicName
from penstock.kafka.acknowledged import OutgoingRecord

COLLECTOR = "collector"

_NOWHERE = (Partition(-1), Offset(-1))


class Sender(NamedTuple):
    """Sender of a request. Helps to find a broken release of an app."""

    client: str
    address: str
    agent: str


def dead_letter(
    text: bytes, error: PenstockError, *, topic: TopicName, dead_letters: str, event_id: str, sender: Sender, now: str
) -> OutgoingRecord:
    """Return the dead letter of a rejected event. The event was never in the topic and has no partition or offset."""
    told = {
        ERROR_CODE: error.code,
        ERROR_MESSAGE: error.message,
        PIPELINE: COLLECTOR,
        FAILED_AT: now,
        ORIGIN: str(Origin(topic, *_NOWHERE)),
        "penstock.event_id": event_id,
        "penstock.received_at": now,
        "penstock.client": sender.client,
        "penstock.client.address": sender.address,
        "penstock.client.agent": sender.agent,
    }
    return dead_letters, text, None, [(name, header_text(value)) for name, value in told.items()]
