"""Production advice on broker settings that suit a laptop: one sentence with a value and a reason."""

from __future__ import annotations

from collections.abc import Callable

_SAFE_COPIES = 3
_SAFE_IN_SYNC = 2

_Check = tuple[Callable[[str], bool], str]


def _is(wanted: str) -> Callable[[str], bool]:
    return lambda value: value.lower() == wanted


def _below(limit: int) -> Callable[[str], bool]:
    return lambda value: value.isdecimal() and int(value) < limit


def _always(_value: str) -> bool:
    return True


_CHECKS: dict[str, _Check] = {
    "auto.create.topics.enable": (
        _is("true"),
        "false: a mistyped name should be an error, not a new topic",
    ),
    "delete.topic.enable": (
        _is("true"),
        "false, or give the right DELETE to few: a deleted topic is gone with its records",
    ),
    "default.replication.factor": (
        _below(_SAFE_COPIES),
        "3, on three brokers or more: with one copy, a lost disk is lost records",
    ),
    "num.partitions": (
        _below(2),
        "more: one partition is read by one consumer of a group; `penstock topics plan` finds the number",
    ),
    "min.insync.replicas": (
        _below(_SAFE_IN_SYNC),
        "2, with 3 replicas: with 1, a single copy is enough for acks=all",
    ),
    "unclean.leader.election.enable": (
        _is("true"),
        "false: a replica that lags behind may lead, and confirmed records are lost",
    ),
    "log.retention.ms": (
        _always,
        "as long as a reader may be late: older records are deleted, read or not; a topic's retention.ms wins",
    ),
    "log.retention.hours": (
        _always,
        "as long as a reader may be late: older records are deleted, read or not; log.retention.ms wins",
    ),
    "log.retention.bytes": (
        _is("-1"),
        "a limit that fits the disk, counted for each partition: without one, time alone deletes records",
    ),
}

ADVISED = frozenset(_CHECKS)


def advice(name: str, value: str | None) -> str:
    """Return advice on a broker's setting that is unfit for production, or an empty text."""
    applies, words = _CHECKS.get(name, (_always, ""))
    return words if value is not None and applies(value) else ""
