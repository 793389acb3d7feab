"""Producer options: plain names for librdkafka's settings, with safe defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypedDict

from penstock.config import Settings
from penstock.config.suggest import did_you_mean
from penstock.errors import UsageError
from penstock.kafka.options import client_options, user_options

JAVA_PARTITIONER = "murmur2_random"

_MAX_IDEMPOTENT_IN_FLIGHT = 5


class ProducerOptions(TypedDict, total=False):
    """Options of `Producer` by name. The defaults are in `_OPTIONS`."""

    acks: Literal["all", 0, 1]
    idempotent: bool
    retries: int
    retry_backoff_ms: int
    max_in_flight: int
    linger_ms: float
    batch_bytes: int
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"]
    buffer_messages: int
    buffer_kib: int
    delivery_timeout: float


class _Option(NamedTuple):
    """A setting of librdkafka, and its default."""

    setting: str
    default: Any


_OPTIONS = {
    "acks": _Option("acks", "all"),
    "idempotent": _Option("enable.idempotence", True),
    "retries": _Option("retries", 2**31 - 1),
    "retry_backoff_ms": _Option("retry.backoff.ms", 100),
    "max_in_flight": _Option("max.in.flight", _MAX_IDEMPOTENT_IN_FLIGHT),
    "linger_ms": _Option("linger.ms", 5),
    "batch_bytes": _Option("batch.size", 1_000_000),
    "compression": _Option("compression.type", "lz4"),
    "buffer_messages": _Option("queue.buffering.max.messages", 100_000),
    "buffer_kib": _Option("queue.buffering.max.kbytes", 64 * 1024),
    "delivery_timeout": _Option("delivery.timeout.ms", 120),
}


_ALIASES = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "max.in.flight.requests.per.connection": "max.in.flight",
    "queue.buffering.max.ms": "linger.ms",
    "compression.codec": "compression.type",
    "message.timeout.ms": "delivery.timeout.ms",
}


def librdkafka_options(
    settings: Settings, given: ProducerOptions, partitioner: str, passed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all options of the handle. Passed options win; conflicting options raise UsageError."""
    _refuse_unknown(given)
    options = {option.setting: option.default for option in _OPTIONS.values()}
    options |= {_OPTIONS[name].setting: value for name, value in given.items()}
    options["delivery.timeout.ms"] = _number(options, "delivery.timeout.ms") * 1000
    options |= {"partitioner": partitioner, "sticky.partitioning.linger.ms": 0}
    options |= {_ALIASES.get(name, name): value for name, value in {**client_options(settings), **passed}.items()}
    options["delivery.timeout.ms"] = int(_number(options, "delivery.timeout.ms"))
    _refuse_conflicts(options)
    return user_options(options)


def _refuse_unknown(given: Mapping[str, Any]) -> None:
    for name in given.keys() - _OPTIONS.keys():
        hint = did_you_mean(name, _OPTIONS, "pass librdkafka's own settings with options={...}")
        raise UsageError(f"a producer has no option {name!r}", hint=hint)


def _refuse_conflicts(options: Mapping[str, Any]) -> None:
    acks, linger, timeout = options["acks"], _number(options, "linger.ms"), _number(options, "delivery.timeout.ms")
    if str(acks) not in {"all", "-1", "0", "1"}:
        raise UsageError(f"acks={acks} is not a choice", hint="choose 'all', 1 or 0")
    if linger >= timeout:
        raise UsageError(
            f"linger_ms={linger:g} leaves no time to deliver within delivery_timeout={timeout / 1000:g} s",
            hint="lower linger_ms or raise delivery_timeout",
        )
    if str(options["enable.idempotence"]).lower() == "true":
        _refuse_unsafe(str(acks), _number(options, "retries"), _number(options, "max.in.flight"))


def _refuse_unsafe(acks: str, retries: float, in_flight: float) -> None:
    needs = {
        f"acks={acks}": ("acks='all'", acks in {"all", "-1"}),
        f"retries={retries:g}": ("at least one retry", retries > 0),
        f"max_in_flight={in_flight:g}": ("5 requests in flight at most", in_flight <= _MAX_IDEMPOTENT_IN_FLIGHT),
    }
    for choice, (need, met) in needs.items():
        if not met:
            raise UsageError(
                f"{choice} conflicts with idempotent=True, which needs {need}",
                hint="say idempotent=False as well, if repeated or reordered records are acceptable",
            )


def _number(options: Mapping[str, Any], setting: str) -> float:
    try:
        return float(options[setting])
    except (TypeError, ValueError):
        raise UsageError(f"{setting}: {options[setting]!r} is not a number", hint="see ProducerOptions") from None
