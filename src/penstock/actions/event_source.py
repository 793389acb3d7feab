"""Event source as seen by actions: accepts deferred acknowledgements."""

from __future__ import annotations

from penstock.actions.tally import Tally
from penstock.actions.tracker import Tracker
from penstock.errors import UsageError
from penstock.events.envelope import EventEnvelope
from penstock.events.record import Offset, Origin, Partition, TopicName


class TrackedSource:
    """Source that accepts acknowledgements in any order. Each counts once, while this process owns the partition."""

    def __init__(self, tracker: Tracker, tally: Tally) -> None:
        self._tracker = tracker
        self._tally = tally

    def ack(self, event: EventEnvelope, processed: bool = True) -> None:
        """Mark an event as done after `act` returned False."""
        if processed and self._tracker.acknowledge(_place_of(event)):
            self._tally.acknowledged(event.event_type)


def _place_of(event: EventEnvelope) -> Origin:
    """Return the position of an event, from its `meta`."""
    try:
        place = event.meta["kafka"]
        return Origin(TopicName(place["topic"]), Partition(place["partition"]), Offset(place["offset"]))
    except (KeyError, TypeError) as error:
        hint = "acknowledge the event that act was called with, or one with the same meta"
        raise UsageError("this event does not say where it came from", hint=hint) from error
