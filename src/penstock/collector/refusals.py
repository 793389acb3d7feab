"""Why a request is refused: each reason is an error with its HTTP status."""

from __future__ import annotations

from typing import ClassVar

from penstock.errors import Terminal


class Refusal(Terminal):
    """A request that is not taken; `headers` go with the answer."""

    code = "request"
    status: ClassVar[int] = 400

    def __init__(self, message: str, *, hint: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(message, hint=hint)
        self.headers = headers or {}


class NotHttp(Refusal):
    """What came over the connection is no request."""

    code = "request.not_http"


class NotJson(Refusal):
    """The body is not JSON, or not in the encoding that it claims."""

    code = "request.not_json"


class NoEvents(Refusal):
    """The body holds no event at all."""

    code = "request.empty"


class BadId(Refusal):
    """The Idempotency-Key cannot serve as an event's id."""

    code = "request.bad_id"


class UnknownKey(Refusal):
    """No API key was given, or one that nobody has."""

    code = "request.key"
    status = 401

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint, headers={"www-authenticate": "Bearer"})


class NoSuchPath(Refusal):
    """Nothing is served at this path."""

    code = "request.path"
    status = 404


class NoSuchTopic(Refusal):
    """The settings, or the API key, do not allow this topic."""

    code = "request.topic"
    status = 404


class WrongMethod(Refusal):
    """The path is served, but not with this method."""

    code = "request.method"
    status = 405

    def __init__(self, message: str, *, allowed: str) -> None:
        super().__init__(message, hint=f"use {allowed}", headers={"allow": allowed})


class TooSlow(Refusal):
    """The head or the body did not arrive in time."""

    code = "request.too_slow"
    status = 408


class TooLarge(Refusal):
    """The body, as sent or decompressed, or its number of events is above the limit."""

    code = "request.too_large"
    status = 413


class TooManyEvents(TooLarge):
    """The body holds more events than are allowed; `events` is how many."""

    def __init__(self, events: int, most: int) -> None:
        super().__init__(f"the body holds more than {most:,} events", hint="send fewer events at once")
        self.events = events


class Unsupported(Refusal):
    """The content type or encoding is not one that is understood."""

    code = "request.unsupported"
    status = 415


class RateExceeded(Refusal):
    """The API key's rate is used up; the answer says when to come back."""

    code = "request.rate"
    status = 429


class HeadTooLarge(Refusal):
    """The request's path and headers are above the limit."""

    code = "request.head_too_large"
    status = 431


class Busy(Refusal):
    """There is no room for the request now: because of Kafka, of what waits for it already, or of other clients."""

    code = "request.busy"
    status = 503
