from __future__ import annotations

from typing import Any

import pytest

from penstock.config import Settings
from penstock.errors import UsageError
from penstock.kafka.producer_options import JAVA_PARTITIONER, librdkafka_options


def options(passed: dict[str, Any] | None = None, settings: Settings | None = None, **named: Any) -> dict[str, Any]:
    return librdkafka_options(settings or Settings(), named, JAVA_PARTITIONER, passed or {})


def test_the_defaults_are_the_safe_choices() -> None:
    made = options()
    assert made["acks"] == "all"
    assert made["enable.idempotence"] == "true"
    assert made["retries"] > 1_000_000
    assert made["partitioner"] == "murmur2_random"
    assert made["delivery.timeout.ms"] == 120_000


def test_named_options_become_librdkafkas() -> None:
    made = options(acks=1, idempotent=False, linger_ms=20, buffer_kib=128, compression="zstd", delivery_timeout=2.5)
    assert (made["acks"], made["enable.idempotence"]) == (1, "false")
    assert (made["linger.ms"], made["queue.buffering.max.kbytes"], made["compression.type"]) == (20, 128, "zstd")
    assert made["delivery.timeout.ms"] == 2500


def test_what_is_passed_through_wins_over_settings_and_those_over_names() -> None:
    settings = Settings(kafka={"linger.ms": 50, "sasl.username": "ada", "socket.keepalive.enable": True})
    assert options(settings=settings, linger_ms=10)["linger.ms"] == 50
    assert options({"linger.ms": 60}, settings, linger_ms=10)["linger.ms"] == 60
    assert options(settings=settings)["sasl.username"] == "ada"
    assert options(settings=settings)["socket.keepalive.enable"] == "true"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"acks": 1}, "acks=1 conflicts with idempotent=True, which needs acks='all'"),
        ({"acks": 0}, "acks=0 conflicts with idempotent=True"),
        ({"retries": 0}, "retries=0 conflicts with idempotent=True, which needs at least one retry"),
        ({"max_in_flight": 6}, "max_in_flight=6 conflicts with idempotent=True"),
        ({"acks": 2}, "acks=2 is not a choice"),
        ({"linger_ms": "soon"}, "linger.ms: 'soon' is not a number"),
        ({"delivery_timeout": 0}, "leaves no time to deliver"),
        ({"linger_ms": 3000, "delivery_timeout": 2}, "linger_ms=3000 leaves no time .* delivery_timeout=2 s"),
    ],
)
def test_a_conflict_or_nonsense_is_refused_and_says_what_conflicts(named: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options(**named)


def test_a_conflict_in_what_is_passed_through_is_found_too() -> None:
    with pytest.raises(UsageError, match="acks=1 conflicts"):
        options({"acks": 1})
    with pytest.raises(UsageError, match="acks=0 conflicts"):
        options(settings=Settings(kafka={"acks": 0}))
    with pytest.raises(UsageError, match="max_in_flight=9 conflicts"):
        options({"max.in.flight.requests.per.connection": 9})


def test_a_setting_passed_by_another_of_its_names_replaces_the_default() -> None:
    made = options({"message.timeout.ms": "5000", "compression.codec": "gzip"})
    assert (made["delivery.timeout.ms"], made["compression.type"]) == (5000, "gzip")
    assert "message.timeout.ms" not in made


@pytest.mark.parametrize(("name", "hint"), [("ack", "did you mean acks?"), ("zzz", "options={...}")])
def test_an_unknown_option_is_refused_with_the_closest_name(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"no option '{name}'") as refused:
        options(**{name: 1})
    assert hint in refused.value.hint
