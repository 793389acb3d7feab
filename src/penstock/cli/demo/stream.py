"""Plausible week of a shop's events, oldest first, with a few events broken by a bad release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random

DAYS = 7

Event = dict[str, object]

_TYPES = {"ListingView": 46, "Search": 24, "Click": 18, "Message": 8, "Purchase": 4}
_TYPES_TODAY = {"ListingView": 44, "Search": 19, "Click": 20, "Message": 10, "Purchase": 7}
"""Today has a sale."""
_DAY_WEIGHTS = (0.9, 0.85, 0.95, 1.0, 1.1, 1.25, 1.15)
_DEVICES = {"android": 46, "ios": 34, "web": 20}
_USERS, _LISTINGS = 3_000, 800
_BUSY_LISTINGS = 1.2
_BROKEN_SHARE = 0.004
_BATCH = 50
_BAD_RELEASE = "shop-android/5.2.0"


@dataclass(frozen=True)
class Post:
    """Request of an app: events, and the sending release."""

    events: list[Event]
    agent: str

    @property
    def body(self) -> bytes:
        """Events as a JSON array."""
        return json.dumps(self.events).encode()


def posts(number: int, now: datetime, dice: Random) -> Iterator[Post]:
    """Yield requests with `number` events of the last days, up to now. Some come from a bad release."""
    batch: list[Event] = []
    for moment in _moments(number, now, dice):
        if dice.random() < _BROKEN_SHARE:
            yield Post([_broken(_event(moment, now, dice), dice)], _BAD_RELEASE)
            continue
        batch.append(_event(moment, now, dice))
        if len(batch) == _BATCH:
            yield Post(batch, "shop-web/118")
            batch = []
    if batch:
        yield Post(batch, "shop-web/118")


def straight_to_the_topic(number: int, now: datetime, dice: Random) -> Iterator[bytes]:
    """Yield records sent past the collector: truncated JSON, and fields of wrong types."""
    for index in range(number):
        event = _event(now, now, dice)
        if index % 2:
            yield json.dumps(_broken(event, dice)).encode()
        else:
            yield json.dumps(event).encode()[: dice.randrange(20, 80)]


def _moments(number: int, now: datetime, dice: Random) -> list[datetime]:
    """Return event times: more in the evening than at night, varying by day, none in the future."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    weights = list(accumulate(_DAY_WEIGHTS))
    ages = dice.choices(range(DAYS - 1, -1, -1), cum_weights=weights, k=number)
    found = []
    for age in ages:
        length = now - midnight if age == 0 else timedelta(days=1)
        found.append(midnight - timedelta(days=age) + length * dice.triangular(0, 1, 0.8))
    return sorted(found)


def _event(moment: datetime, now: datetime, dice: Random) -> Event:
    kind = _one_of(_TYPES_TODAY if moment.date() == now.date() else _TYPES, dice)
    listing = int(dice.paretovariate(_BUSY_LISTINGS)) % _LISTINGS
    return {
        "Event_Type": kind,
        "Event_Version": "1",
        "User_ID": f"user-{dice.randrange(_USERS):04}",
        "Listing_ID": None if kind == "Search" else f"listing-{listing:03}",
        "Server_Time": moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "Device_Type": _one_of(_DEVICES, dice),
    }


def _broken(event: Event, dice: Random) -> Event:
    """Return the event as broken by the bad release."""
    if dice.random() < 1 / 2:
        return {**event, "User_ID": int(str(event["User_ID"]).removeprefix("user-"))}
    return {name: value for name, value in event.items() if name != "Event_Type"}


def _one_of(weights: dict[str, int], dice: Random) -> str:
    return dice.choices(list(weights), list(weights.values()))[0]
