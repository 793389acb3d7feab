from hashlib import sha256

import pytest

from penstock.collector.config import PRODUCT_EVENT, CollectorSettings, KeySettings, TopicSettings
from penstock.collector.keys import ANONYMOUS, Keyring
from penstock.collector.refusals import NoSuchTopic, RateExceeded, UnknownKey
from penstock.collector.topics import load_topics


def keyring(*keys: KeySettings, workers: int = 1) -> Keyring:
    topics = {name: TopicSettings(schema=PRODUCT_EVENT) for name in ("events", "clicks")}
    settings = CollectorSettings(topics=topics, keys=list(keys), workers=workers)
    return Keyring(settings, load_topics(settings))


WEB = KeySettings(name="web", secret="web-key", topics=["events"])  # type: ignore[arg-type]
IOS = KeySettings(name="ios", sha256=sha256(b"ios-key").hexdigest())


def test_without_keys_everybody_may_send_everywhere() -> None:
    client = keyring().client({})
    assert client.name == ANONYMOUS
    assert client.topic("clicks").name == "clicks"


@pytest.mark.parametrize(
    "headers",
    [
        {b"authorization": b"Bearer web-key"},
        {b"authorization": b"bearer web-key "},
        {b"x-api-key": b"web-key"},
    ],
)
def test_a_key_is_given_as_bearer_or_in_its_own_header(headers: dict[bytes, bytes]) -> None:
    assert keyring(WEB, IOS).client(headers).name == "web"


def test_a_key_may_be_known_by_its_hash_only() -> None:
    assert keyring(WEB, IOS).client({b"x-api-key": b"ios-key"}).name == "ios"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {b"x-api-key": b""},
        {b"x-api-key": b"web-ke"},
        {b"x-api-key": IOS.sha256.encode() if IOS.sha256 else b""},
        {b"authorization": b"Basic web-key"},
    ],
)
def test_no_key_and_a_wrong_key_are_refused_without_a_word_about_it(headers: dict[bytes, bytes]) -> None:
    with pytest.raises(UnknownKey) as caught:
        keyring(WEB, IOS).client(headers)
    assert "web-ke" not in str(caught.value)


def test_a_key_opens_its_own_topics_only() -> None:
    client = keyring(WEB, IOS).client({b"x-api-key": b"web-key"})
    assert client.topic("events").name == "events"
    with pytest.raises(NoSuchTopic) as caught:
        client.topic("clicks")
    assert caught.value.hint == "choose events"


def test_a_key_has_its_own_rate_which_workers_share() -> None:
    fast = KeySettings(name="fast", secret="fast")  # type: ignore[arg-type]
    slow = KeySettings(name="slow", secret="slow", rate=4)  # type: ignore[arg-type]
    ring = keyring(fast, slow, workers=2)
    client = ring.client({b"x-api-key": b"slow"})
    client.admit()
    client.count(9)
    with pytest.raises(RateExceeded) as caught:
        client.admit()
    assert caught.value.headers == {"retry-after": "5"}
    ring.client({b"x-api-key": b"fast"}).admit()
