"""Dead letter: a rejected record in its original form, with the reason, the time and the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from penstock.errors import UsageError
from penstock.events.dead_letter import ERROR_CODE, ERROR_MESSAGE, FAILED_AT, OF_A_REFUSAL, ORIGIN, PIPELINE
from penstock.events.record import ConsumerRecord, Headers, Offset, Origin, Partition, TopicName

_ABOUT_CLIENT = "penstock.client"


@dataclass(frozen=True)
class DeadLetter:
    """Rejected record. `place` is the position of the letter, `origin` the position of the original record.

    Records rejected by the collector never reached a topic: partition and offset of the origin are -1.
    """

    place: Origin
    origin: Origin
    pipeline: str
    code: str
    message: str
    failed_at: str
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def record(self) -> Origin:
        """Position that identifies the rejected record: the origin, or else the position of the letter.

        Every sink of a pipeline, and every repeated batch, stores its own letter of a record.
        """
        return self.origin if self.origin.partition >= 0 else self.place

    @property
    def own_headers(self) -> Headers:
        """Headers of the original record. Rejection headers are removed, including the last of several origins."""
        told = max((at for at, (name, _) in enumerate(self.headers) if name == ORIGIN), default=-1)
        return tuple(pair for at, pair in enumerate(self.headers) if at != told and not _tells_of_refusal(pair[0]))

    @property
    def time(self) -> datetime | None:
        """Time of the rejection, or None if the header is not ISO 8601."""
        try:
            return datetime.fromisoformat(self.failed_at).astimezone()
        except ValueError:
            return None


def as_letter(record: ConsumerRecord) -> DeadLetter | None:
    """Return the letter in a record, or None for a foreign record, which has no error code."""
    told = {name: (value or b"").decode("utf-8", "replace") for name, value in record.headers}
    if ERROR_CODE not in told:
        return None
    return DeadLetter(
        place=record.origin,
        origin=parse_place(told.get(ORIGIN, "")) or record.origin,
        pipeline=told.get(PIPELINE, ""),
        code=told[ERROR_CODE],
        message=told.get(ERROR_MESSAGE, ""),
        failed_at=told.get(FAILED_AT, ""),
        key=record.key,
        value=record.value,
        headers=tuple(record.headers),
    )


def parse_place(text: str) -> Origin | None:
    """Parse `<topic>/<partition>/<offset>`. Return None for any other text."""
    topic, _, rest = text.partition("/")
    partition, _, offset = rest.partition("/")
    try:
        return Origin(TopicName(topic), Partition(int(partition)), Offset(int(offset))) if topic else None
    except ValueError:
        return None


def place_given(text: str) -> Origin:
    """Parse a position entered by a person. Raise UsageError for any other text."""
    place = parse_place(text)
    if place is None:
        hint = "copy it from `penstock deadletters list`: events.dead/0/17"
        raise UsageError(f"{text!r} is not the place of a record, TOPIC/PARTITION/OFFSET", hint=hint)
    return place


def _tells_of_refusal(name: str) -> bool:
    return name.startswith(_ABOUT_CLIENT) or name in OF_A_REFUSAL
