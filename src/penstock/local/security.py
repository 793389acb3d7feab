"""What differs between an open stack and a secured one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.config import Settings


def _nothing(_settings: Settings) -> None:
    """Open stacks need no last step."""


@dataclass(frozen=True)
class Security:
    """How brokers and clients are secured; without any of it, whoever reaches localhost may do anything.

    `broker_settings` come on top of a broker's own and before the user's; `format_arguments` are further ones for
    `StorageTool format`; `settle` takes the settings of a client once all parts are ready, and is safe to repeat.
    """

    broker_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    format_arguments: Sequence[str] = field(default=(), repr=False)
    java_client: Mapping[str, str] = field(default_factory=dict, repr=False)
    python_client: Mapping[str, str] = field(default_factory=dict, repr=False)
    settle: Callable[[Settings], None] = _nothing
