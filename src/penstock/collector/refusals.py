"""Reasons for refusing a request: errors with an HTTP status."""

from __future__ import annotations

from typing import ClassVar

from penstock.errors import Terminal


class Refusal(Terminal):
    """Refused request. `headers` are sent with the answer."""

    code = "request"
    status: ClassVar[int] = 400

    def __init__(self, message: str, *, hint: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(message, hint=hint)
        self.headers = headers or {}


class NotHttp(Refusal):
    """The received data is not an HTTP request."""

    code = "request.not_http"


class NotJson(Refusal):
    """The body is not valid JSON, or does not match the declared encoding."""

    code = "request.not_json"


class NoEvents(Refusal):
    """The body contains no event."""

    code = "request.empty"


class BadId(Refusal):
    """The Idempotency-Key is not a valid event id."""

    code = "request.bad_id"


class UnknownKey(Refusal):
    """The API key is missing or unknown."""

    code = "request.key"
    status = 401

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint, headers={"www-authenticate": "Bearer"})


class NoSuchPath(Refusal):
    """The path does not exist."""

    code = "request.path"
    status = 404


class NoSuchTopic(Refusal):
    """The topic is not in the settings, or not permitted by the API key."""

    code = "request.topic"
    status = 404


class WrongMethod(Refusal):
    """The path exists, but does not support this method."""

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
    """The body contains more events than allowed. `events` is their number."""

    def __init__(self, events: int, most: int) -> None:
        super().__init__(f"the body holds more than {most:,} events", hint="send fewer events at once")
        self.events = events


class Unsupported(Refusal):
    """The content type or encoding is not supported."""

    code = "request.unsupported"
    status = 415


class RateExceeded(Refusal):
    """The API key's rate is used up. The answer contains the time to wait."""

    code = "request.rate"
    status = 429


class HeadTooLarge(Refusal):
    """The request's path and headers are above the limit."""

    code = "request.head_too_large"
    status = 431


class Busy(Refusal):
    """No capacity now: because of Kafka, of data waiting for Kafka, or of other clients."""

    code = "request.busy"
    status = 503
