"""Kafka in KRaft mode: a single broker or a cluster of three. Each broker is also a controller."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path

from penstock.errors import UsageError
from penstock.local.files import write_properties
from penstock.local.java import hidden_arguments, java_command, small_jvm
from penstock.local.part import Part
from penstock.local.ports import listens
from penstock.local.process import run
from penstock.local.site import Site, StackOptions

FILES: tuple[str, ...] = ("kafka",)
VERSION = "4.3.1"
_STARTED = b"Kafka Server started"
_OWN = (
    "node.id",
    "process.roles",
    "listeners",
    "advertised.listeners",
    "log.dirs",
    "controller.quorum.voters",
    "controller.listener.names",
)


def wanted(_options: StackOptions) -> bool:
    """Return True: the stack always runs Kafka."""
    return True


def parts(site: Site) -> list[Part]:
    """Return the brokers: `kafka` alone, or `kafka-1` to `kafka-3`."""
    _refuse_own_settings(site.options.broker_settings)
    cluster = cluster_id(site.data)
    return [_broker(site, cluster, node) for node in range(1, site.options.brokers + 1)]


def _broker(site: Site, cluster: str, node: int) -> Part:
    name = "kafka" if site.options.brokers == 1 else f"kafka-{node}"
    port = site.kafka_ports[node - 1]
    home, log = site.data / name, site.log(name)
    return Part(
        name=name,
        version=VERSION,
        address=f"localhost:{port}",
        ports={"ports.kafka": port},
        command=_java(site, "kafka.Kafka", str(home / "server.properties")),
        log=log,
        prepare=partial(_prepare, site, cluster, node, home),
        is_ready=lambda: _STARTED in log.read_bytes() and listens(port),
    )


def _java(site: Site, main: str, *arguments: str) -> tuple[str, ...]:
    logging = files("penstock.local").joinpath("log4j2.properties")
    options = (*small_jvm(512), f"-Dlog4j2.configurationFile={logging}")
    return java_command(main, *arguments, classpath=site.jars.classpath("kafka"), options=options)


def _prepare(site: Site, cluster: str, node: int, home: Path) -> None:
    """Write the broker's settings. Format the storage at the first start."""
    properties = home / "server.properties"
    write_properties(properties, server_properties(site, node, home))
    if (home / "log" / "meta.properties").exists():
        return
    arguments = ("format", f"--cluster-id={cluster}", "--config", str(properties))
    command = _java(site, "kafka.tools.StorageTool", *arguments, *site.security.format_arguments)
    with hidden_arguments(command, home / "format.arguments") as hidden:
        run(home.name, hidden, site.log(f"{home.name}-format"))


def server_properties(site: Site, node: int, home: Path) -> dict[str, str]:
    """Return a broker's settings: cluster, laptop defaults, security, then the user's settings."""
    copies = str(len(site.kafka_ports))
    in_sync = "2" if site.options.brokers > 1 else "1"
    port, controller = site.kafka_ports[node - 1], site.controller_ports[node - 1]
    voters = (f"{number}@localhost:{where}" for number, where in enumerate(site.controller_ports, 1))
    return {
        "node.id": str(node),
        "process.roles": "broker,controller",
        "listeners": f"CLIENT://localhost:{port},CONTROLLER://localhost:{controller}",
        "advertised.listeners": f"CLIENT://localhost:{port}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENT",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(voters),
        "log.dirs": str(home / "log"),
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
        "offsets.topic.num.partitions": "10",
        "transaction.state.log.num.partitions": "10",
        "group.initial.rebalance.delay.ms": "0",
        **site.security.broker_settings,
        **site.options.broker_settings,
    }


def cluster_id(data: Path) -> str:
    """Return the cluster's id, generated at the first start."""
    file = data / "cluster.id"
    if not file.exists():
        file.write_text(base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("="), encoding="ascii")
    return file.read_text(encoding="ascii")


def _refuse_own_settings(given: Mapping[str, str]) -> None:
    for name in _OWN:
        if name in given:
            raise UsageError(f"{name} is set by the stack itself", hint="use --brokers, --data or the ports.* settings")
