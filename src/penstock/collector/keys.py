"""Authentication by API keys, with permitted topics and rates."""

from __future__ import annotations

import hmac
import math
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from penstock.collector.body import Headers
from penstock.collector.config import CollectorSettings, KeySettings
from penstock.collector.rate import TokenBucket
from penstock.collector.refusals import NoSuchTopic, RateExceeded, UnknownKey
from penstock.collector.topics import Topic

ANONYMOUS = "anonymous"

_BEARER = b"bearer "


@dataclass(frozen=True)
class Client:
    """Holder of a key, with the permitted topics and a token bucket for events."""

    name: str
    topics: dict[str, Topic]
    bucket: TokenBucket | None = None

    def topic(self, name: str) -> Topic:
        """Return the topic, if permitted for the client."""
        topic = self.topics.get(name)
        if topic is None:
            raise NoSuchTopic(f"there is no topic {name!r:.100} to send to", hint=f"choose {', '.join(self.topics)}")
        return topic

    def admit(self) -> None:
        """Count the request as an event, or refuse the request if the rate is exceeded."""
        if self.bucket is None:
            return
        if wait := self.bucket.wait_seconds():
            seconds = str(math.ceil(wait))
            raise RateExceeded(f"{self.name} has used up its rate", headers={"retry-after": seconds})
        self.bucket.take(1)

    def count(self, events: int) -> None:
        """Count further events against the rate."""
        if self.bucket is not None:
            self.bucket.take(events)


class Keyring:
    """Finds the client of a request. Without keys in the settings, every request has the same anonymous client."""

    def __init__(self, settings: CollectorSettings, topics: dict[str, Topic]) -> None:
        self._clients = [(_digest(key), _client(key, topics, settings.workers)) for key in settings.keys]
        self._anybody = None if settings.keys else Client(ANONYMOUS, topics)

    def client(self, headers: Headers) -> Client:
        """Return the holder of the key in `Authorization: Bearer` or `X-API-Key`. Raise UnknownKey if there is none."""
        if self._anybody is not None:
            return self._anybody
        given = _given_key(headers)
        if given is None:
            raise UnknownKey("an API key is needed", hint="send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`")
        found = self._holder(sha256(given).digest())
        if found is None:
            raise UnknownKey("the API key is not known", hint="ask who runs the collector for one")
        return found

    def _holder(self, digest: bytes) -> Client | None:
        """Compare with every key, in constant time whether or not a key matches."""
        fitting = [client for known, client in self._clients if hmac.compare_digest(known, digest)]
        return fitting[0] if fitting else None


def _given_key(headers: Headers) -> bytes | None:
    authorization = headers.get(b"authorization", b"")
    if authorization[: len(_BEARER)].lower() == _BEARER:
        return authorization[len(_BEARER) :].strip()
    return headers.get(b"x-api-key")


def _digest(key: KeySettings) -> bytes:
    if key.secret is not None:
        return sha256(key.secret.get_secret_value().encode()).digest()
    return bytes.fromhex(key.sha256 or "")


def _client(key: KeySettings, topics: dict[str, Topic], workers: int) -> Client:
    allowed: Iterable[str] = topics if key.topics is None else key.topics
    bucket = TokenBucket(key.rate / workers) if key.rate else None
    return Client(key.name, {name: topics[name] for name in allowed}, bucket)
