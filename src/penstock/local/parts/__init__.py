"""What the stack can run, one module for each system.

A module has `FILES` (the parts of the lock that it needs), `wanted(options)`, and `parts(site)`, which makes its
processes. To add a system, write its module and name it in `SYSTEMS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.local.part import Part
from penstock.local.parts import apicurio, connect, kafka, postgres, registry, s3
from penstock.local.site import Site, StackOptions


class System(Protocol):
    """A module of this folder."""

    FILES: tuple[str, ...]

    def wanted(self, options: StackOptions, /) -> bool:
        """Whether these options ask for the system."""
        ...

    def parts(self, site: Site, /) -> Sequence[Part]:
        """Its processes."""
        ...


SYSTEMS: tuple[System, ...] = (kafka, postgres, apicurio, registry, connect, s3)


def files_needed(options: StackOptions) -> list[str]:
    """The parts of the lock that these options need."""
    return [name for system in SYSTEMS if system.wanted(options) for name in system.FILES]


def plan(site: Site) -> tuple[Part, ...]:
    """Every process that the site's options ask for; a part stands after those it needs."""
    return tuple(part for system in SYSTEMS if system.wanted(site.options) for part in system.parts(site))
