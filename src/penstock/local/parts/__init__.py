"""Systems of the stack, with a module for each system.

A module defines `FILES` (parts of the lock), `wanted(options)`, and `parts(site)`, which creates the processes.
To add a system, write its module and add the module to `SYSTEMS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.local.part import Part
from penstock.local.parts import apicurio, connect, kafka, postgres, registry, s3
from penstock.local.site import Site, StackOptions


class System(Protocol):
    """Interface of the modules in this folder."""

    FILES: tuple[str, ...]

    def wanted(self, options: StackOptions, /) -> bool:
        """Whether these options request the system."""
        ...

    def parts(self, site: Site, /) -> Sequence[Part]:
        """Return the system's processes."""
        ...


SYSTEMS: tuple[System, ...] = (kafka, postgres, apicurio, registry, connect, s3)


def files_needed(options: StackOptions) -> list[str]:
    """Return the parts of the lock needed for these options."""
    return [name for system in SYSTEMS if system.wanted(options) for name in system.FILES]


def plan(site: Site) -> tuple[Part, ...]:
    """Return every process requested by the site's options, with dependencies first."""
    return tuple(part for system in SYSTEMS if system.wanted(site.options) for part in system.parts(site))
