"""Inputs of all parts: options, paths, ports, and Kafka's security."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.config import Settings
from penstock.errors import UsageError
from penstock.local.jars import JarCache
from penstock.local.ports import free_ports, next_free_ports
from penstock.local.secure import secured
from penstock.local.security import Security

BROKERS = (1, 3)


@dataclass(frozen=True)
class StackOptions:
    """Options of a stack."""

    brokers: int = 1
    cdc: bool = False
    s3: bool = False
    secure: bool = False
    broker_settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Reject impractical numbers of brokers for a single machine."""
        if self.brokers not in BROKERS:
            raise UsageError(f"{self.brokers} brokers are not possible", hint="choose 1 or 3")


@dataclass(frozen=True)
class Site:
    """Resolved environment of one stack: directory, ports and files."""

    options: StackOptions
    settings: Settings
    data: Path
    jars: JarCache
    kafka_ports: tuple[int, ...]
    controller_ports: tuple[int, ...]
    apicurio_port: int
    apicurio_health_port: int
    security: Security

    def log(self, name: str) -> Path:
        """Return the log file of a part."""
        return self.data / "logs" / f"{name}.log"

    @property
    def bootstrap(self) -> str:
        """Kafka's bootstrap servers."""
        return ",".join(f"localhost:{port}" for port in self.kafka_ports)


def survey(options: StackOptions, settings: Settings) -> Site:
    """Choose ports without a setting, and collect the inputs of the parts."""
    named = set(dict(settings.ports).values())
    kafka = next_free_ports(settings.ports.kafka, options.brokers, named)
    apicurio, health, *controllers = free_ports(2 + options.brokers, {*named, *kafka})
    data = settings.data.absolute()
    return Site(
        options,
        settings,
        data,
        JarCache.from_settings(settings),
        kafka_ports=kafka,
        controller_ports=tuple(controllers),
        apicurio_port=apicurio,
        apicurio_health_port=health,
        security=secured(data) if options.secure else Security(),
    )
