"""A dead-letter topic that existed before accepts the largest messages of its sources, or a warning says how."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.config import Settings
from penstock.kafka.acls import Grant, grant_rights
from penstock.kafka.admin import Admin
from penstock.kafka.configs import record_limit
from penstock.kafka.errors import Right
from penstock.kafka.topics import MAX_LETTER_BYTES, create_topic
from penstock.spark.dead_letters import DeadLetters

SMALL, LARGE = {"max.message.bytes": "1000000"}, {"max.message.bytes": "20000000"}


def test_the_limit_of_an_older_topic_is_raised_if_letters_may_exceed_it(settings: Settings, topic: str) -> None:
    with Admin(settings) as admin:
        create_topic(admin, topic, settings=LARGE)
        create_topic(admin, f"{topic}.dead", settings=SMALL)
    DeadLetters(settings, f"{topic}.dead", "shop").prepare([topic])
    assert record_limit(settings, f"{topic}.dead") == MAX_LETTER_BYTES


def test_a_limit_that_is_large_enough_stays(settings: Settings, topic: str) -> None:
    with Admin(settings) as admin:
        create_topic(admin, topic, settings=SMALL)
        create_topic(admin, f"{topic}.dead", settings=LARGE)
    DeadLetters(settings, f"{topic}.dead", "shop").prepare([f"^{topic}$"])
    assert record_limit(settings, f"{topic}.dead") == int(LARGE["max.message.bytes"])


def test_a_user_who_may_not_raise_the_limit_is_warned_once_and_starts(
    secured: Callable[[str], Settings], topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    source, letters = f"app.{topic}", f"app.{topic}.dead"
    with Admin(secured("admin")) as admin:
        create_topic(admin, source, settings=LARGE)
        create_topic(admin, letters, settings=SMALL)
        grant_rights(admin, [Grant("app", Right("DESCRIBE_CONFIGS", "topic", name)) for name in (source, letters)])
        grant_rights(admin, [Grant("app", Right("CREATE", "topic", letters))])
    DeadLetters(secured("app"), letters, "shop").prepare([source])
    [warning] = [record.getMessage() for record in caplog.records]
    assert f"dead-letter topic {letters} may not accept the largest messages of {source}" in warning
    assert f"`penstock topics alter {letters} --set max.message.bytes={MAX_LETTER_BYTES}`" in warning
    assert record_limit(secured("admin"), letters) == int(SMALL["max.message.bytes"])
