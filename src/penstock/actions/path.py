"""Path of one event, from the message to the committable offset."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from random import random
from time import perf_counter, time
from typing import Any, NamedTuple, Protocol

import msgspec

from penstock.actions.filter import Filter
from penstock.actions.halt import Halt
from penstock.actions.patience import until_it_passes
from penstock.actions.retries import Retries, told
from penstock.actions.spec import FailureMode
from penstock.actions.tally import Tally
from penstock.actions.tracker import Tracker, Window
from penstock.errors import ActionFailed, RecordInvalid, Transient
from penstock.events.envelope import EventEnvelope
from penstock.events.record import ConsumerRecord

_FAILURES = (BaseException,)
"""Any exception fails one event. No interrupt reaches these threads, so even SystemExit comes from the action."""

_THROW_HINT = "it is not committed, so it will be read again first; with failure_mode: CONTINUE it would be kept"
_log = logging.getLogger(__name__)


class Decoder(Protocol):
    """Decoder of messages into events."""

    def decode(self, record: ConsumerRecord) -> EventEnvelope | None:
        """Return a new event for each call, or None if the message cannot match. Transient errors can be retried."""
        ...

    def type_of(self, record: ConsumerRecord) -> str:
        """Return the event type for the counters, used when the message has no decoded event."""
        ...


class Failures(Protocol):
    """Store for events that failed for good. `write` and `send` raise if the event is not safe."""

    def prepare(self) -> None:
        """Check, before the first event, that events can be stored."""
        ...

    def write(self, record: ConsumerRecord, event: EventEnvelope | None, event_type: str, error: BaseException) -> None:
        """Store an event for inspection by people; `event` is None if the message could not be decoded."""
        ...

    def send(self, record: ConsumerRecord, error: BaseException) -> None:
        """Store the original message. Transient errors can be retried."""
        ...


class Job(msgspec.Struct, frozen=True):
    """Event in progress, with the message and the partition's window, or the error in place of the event."""

    record: ConsumerRecord
    window: Window
    event: EventEnvelope | None
    error: BaseException | None = None


class Stages(NamedTuple):
    """Stages that a pipeline applies to each event."""

    decoder: Decoder
    filter: Filter
    transformers: Sequence[Any]
    action: Any
    retries: Retries
    failure_mode: FailureMode
    failed: Failures


class EventPath:
    """Path of events through the stages. `hand_over` selects the thread for steps 4 to 6.

    1  receive    the partition's window holds the message: no later offset is committed             tracker.py
    2  decode     Avro or JSON; a message that cannot match is not decoded further                   decoding.py
    3  filter     an event that does not match is done                                               filters/
    4  transform  each step gets the event of the previous step; None drops the event                transformers/
    5  act        retryable errors are retried, starting from the original message                   retries.py
    6  ack        done; or failed and stored, hence done; or held until the action acknowledges      tracker.py

    An event that fails at steps 2 to 5 is written to the failed events. Under CONTINUE, its message is also sent to the
    dead letters, and the event is done. Under THROW, the failure ends the pipeline, and the event is not done.
    """

    def __init__(self, stages: Stages, tracker: Tracker, tally: Tally, halt: Halt) -> None:
        self._stages = stages
        self._matches = stages.filter.matches
        self._transformers = stages.transformers
        self._act = stages.action.act
        self._tracker = tracker
        self._tally = tally
        self._halt = halt
        self._warned = False
        self.hand_over: Callable[[Job], None] = self.finish

    def begin(self, record: ConsumerRecord, window: Window) -> None:
        """Run steps 2 and 3 for a received message."""
        self._tracker.opening = record
        try:
            event = self._decode(record)  # 2
            wanted = event is not None and self._matches(event)  # 3
        except _FAILURES as error:
            self._tracker.opening = None
            self.hand_over(Job(record, window, None, error))
            return
        self._tracker.opening = None
        if wanted:
            self.hand_over(Job(record, window, event))
        else:
            self._tally.filtered(self._type(record, event))
            self._tracker.finish(window, record)  # 6

    def finish(self, job: Job) -> None:
        """Run steps 4 to 6. Never raises: an error that ends the pipeline is passed to `halt`."""
        if not self._tracker.begin(job.window, job.record):
            return
        done = False
        try:
            done = self._work(job)  # 4, 5
        except _FAILURES as error:
            self._end(error)
        finally:
            self._tracker.end(job.window, job.record, done=done)  # 6

    def _work(self, job: Job) -> bool:
        """Process until the event is done, deferred or failed. Return whether the event is done."""
        record, event = job.record, job.event
        self._tally.received(self._type(record, event), _age(record))
        if event is None:
            return self._failed(job, job.error or RecordInvalid("there is no event"))
        attempts = 1
        while True:
            try:
                return self._attempt(event)
            except _FAILURES as error:
                pause = self._stages.retries.pause(attempts, error, random())  # noqa: S311 - jitter, not a secret
                if pause is None:
                    return self._failed(job, error)
            self._tally.retried(event.event_type)
            if self._halt.wait(pause):
                return False
            event = self._decode(record) or event
            attempts += 1

    def _attempt(self, event: EventEnvelope) -> bool:
        """Run steps 4 and 5 once. Return whether the event is done."""
        event_type, began = event.event_type, perf_counter()
        try:
            changed = self._transform(event) if self._transformers else event  # 4
            answer = None if changed is None else self._act(changed)  # 5
        except _FAILURES:
            self._tally.acted(event_type, perf_counter() - began)
            raise
        if changed is None:
            self._tally.dropped(event_type)
        elif answer is False:
            self._tally.acted(event_type, perf_counter() - began)
        else:
            self._tally.done(event_type, perf_counter() - began)
            self._warn_unless_known(answer)
        return answer is not False

    def _transform(self, event: EventEnvelope) -> EventEnvelope | None:
        for step in self._transformers:
            changed = step.transform(event)
            if changed is None:
                return None
            if not hasattr(changed, "event_type"):
                raise RecordInvalid(f"{type(step).__name__}.transform returned {type(changed).__name__}, not an event")
            event = changed
        return event

    def _failed(self, job: Job, error: BaseException) -> bool:
        """Store an event that failed for good; under THROW in the file only, since the event will be read again."""
        record, event_type = job.record, self._type(job.record, job.event)
        self._tally.failed(event_type)
        code, message = told(error)
        self._stages.failed.write(record, self._decode(record) if job.event else None, event_type, error)
        if self._stages.failure_mode == "THROW":
            told_where = {"cause": code, "origin": str(record.origin)}
            raise ActionFailed(f"{record.origin}: {message}", hint=_THROW_HINT, **told_where) from error
        _log.warning("%s failed (%s): %s", record.origin, code, message)
        until_it_passes(partial(self._stages.failed.send, record, error), self._halt)
        return True

    def _decode(self, record: ConsumerRecord) -> EventEnvelope | None:
        """Decode a message, waiting while the registry is unreachable."""
        decode = self._stages.decoder.decode
        try:
            return decode(record)
        except Transient:
            return until_it_passes(partial(decode, record), self._halt)

    def _type(self, record: ConsumerRecord, event: EventEnvelope | None) -> str:
        return self._stages.decoder.type_of(record) if event is None else event.event_type

    def _end(self, error: BaseException) -> None:
        """End the pipeline, except for a transient error during a stop: such an event was only interrupted."""
        if not (self._halt.is_set and isinstance(error, Transient)):
            self._tracker.stop(at_once=True)
            self._halt.fail(error)

    def _warn_unless_known(self, answer: object) -> None:
        if answer is not None and answer is not True and not self._warned:
            self._warned = True
            _log.warning("act returned %s, which counts as done; return None, True or False", type(answer).__name__)


def _age(record: ConsumerRecord) -> float:
    """Return the age of the message in seconds, by its own timestamp."""
    return max(0.0, time() - record.timestamp / 1000) if record.timestamp else 0.0
