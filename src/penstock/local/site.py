"""What every part is made from: the options, where things lie, which ports, and how Kafka is secured."""

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
    """What to start, and how."""

    brokers: int = 1
    cdc: bool = False
    s3: bool = False
    secure: bool = False
    broker_settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a number of brokers that makes no sense on one machine."""
        if self.brokers not in BROKERS:
            raise UsageError(f"{self.brokers} brokers are not possible", hint="choose 1 or 3")


@dataclass(frozen=True)
class Site:
    """One stack's place: its directory, its ports, and the files that it runs from."""

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
        """The log of the part of this name."""
        return self.data / "logs" / f"{name}.log"

    @property
    def bootstrap(self) -> str:
        """Where clients find Kafka."""
        return ",".join(f"localhost:{port}" for port in self.kafka_ports)


def survey(options: StackOptions, settings: Settings) -> Site:
    """Choose the ports that no setting names, and gather what the parts are made from."""
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
