"""Differences between an open and a secured stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.config import Settings


def _nothing(_settings: Settings) -> None:
    """Do nothing: open stacks need no final step."""


@dataclass(frozen=True)
class Security:
    """Security settings of brokers and clients. The defaults give full access to every process on localhost.

    `broker_settings` override a broker's defaults; the user's settings override both. `format_arguments` are extra
    arguments of `StorageTool format`. `settle` is called with a client's settings once all parts are ready, and is safe
    to repeat.
    """

    broker_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    format_arguments: Sequence[str] = field(default=(), repr=False)
    java_client: Mapping[str, str] = field(default_factory=dict, repr=False)
    python_client: Mapping[str, str] = field(default_factory=dict, repr=False)
    settle: Callable[[Settings], None] = _nothing
