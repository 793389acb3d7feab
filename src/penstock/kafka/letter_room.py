"""Check that a dead-letter topic accepts the largest messages of its source topics.

A topic that Penstock creates does. A topic that existed before may have a smaller limit, and a rejected message that
does not fit would end the query.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from penstock.config import Settings
from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from penstock.kafka.configs import MAX_RECORD, alter_topic_settings, record_limit_at, topic_settings
from penstock.kafka.start import find_partitions
from penstock.kafka.topics import MAX_LETTER_BYTES

_HEADER_BYTES = 64 * 1024
"""More than the headers of a letter and the batch around it take."""

_log = logging.getLogger(__name__)


def letter_limit(source_limit: int) -> int:
    """Return the limit that a dead-letter topic needs; larger letters are not sent."""
    return min(source_limit + _HEADER_BYTES, MAX_LETTER_BYTES)


def ensure_letter_room(settings: Settings, letters: str, sources: Collection[str]) -> None:
    """Raise the limit of a dead-letter topic if letters from the sources may exceed it, or log a warning.

    `sources` are names and patterns. The limit is raised to that of new dead-letter topics: a source counts the
    compressed size of a message, while letters are not compressed.
    """
    try:
        with Admin(settings) as admin:
            topics = {place.topic for place in find_partitions(admin, sources)}
            limits = {topic: record_limit_at(admin, topic) for topic in topics}
            widest = max(limits, key=lambda topic: limits[topic], default=None)
            if widest is not None:
                _raise_limit(admin, letters, widest, letter_limit(limits[widest]))
    except PenstockError as error:
        _log.warning("the limit of dead-letter topic %s was not checked: %s", letters, error.message)


def _raise_limit(admin: Admin, letters: str, source: str, needed: int) -> None:
    try:
        known = {setting.name: setting.value for setting in topic_settings(admin, letters)}
        if int(known.get(MAX_RECORD) or 0) >= needed:
            return
        alter_topic_settings(admin, letters, {MAX_RECORD: str(MAX_LETTER_BYTES)})
    except PenstockError as error:
        _log.warning(
            "dead-letter topic %s may not accept the largest messages of %s, and one such message would stop the query "
            "(%s). `penstock topics alter %s --set %s=%d` repairs the topic",
            *(letters, source, error.message, letters, MAX_RECORD, MAX_LETTER_BYTES),
        )
    else:
        _log.info("dead-letter topic %s now accepts the largest messages of %s", letters, source)
