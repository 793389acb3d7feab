"""Kafka Connect with Debezium's PostgreSQL connector and Apicurio's Avro converter (`--cdc`)."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from pathlib import Path
from zipfile import ZipFile

from penstock.local.files import write_properties
from penstock.local.java import java_command, small_jvm
from penstock.local.part import Part
from penstock.local.ready import answers
from penstock.local.site import Site, StackOptions

FILES: tuple[str, ...] = ("connect", "converter", "debezium")
VERSION = "4.3.1"
_CONVERTER_SERVICE = "META-INF/services/org.apache.kafka.connect.storage.Converter"
_AVRO_CONVERTER = "io.apicurio.registry.utils.converter.AvroConverter"
_CLIENTS = ("", "producer.", "consumer.", "admin.")


def wanted(options: StackOptions) -> bool:
    """Whether `--cdc` is set."""
    return options.cdc


def parts(site: Site) -> list[Part]:
    """Return one distributed worker."""
    port, home = site.settings.ports.connect, site.data / "connect"
    logging = files("penstock.local").joinpath("log4j2.properties")
    return [
        Part(
            name="connect",
            version=VERSION,
            address=f"http://localhost:{port}",
            ports={"ports.connect": port},
            command=java_command(
                "org.apache.kafka.connect.cli.ConnectDistributed",
                str(home / "worker.properties"),
                classpath=site.jars.classpath("connect"),
                options=(*small_jvm(512), f"-Dlog4j2.configurationFile={logging}"),
            ),
            log=site.log("connect"),
            needs=tuple(_brokers(site)),
            prepare=partial(_prepare, site, home),
            is_ready=partial(answers, f"http://127.0.0.1:{port}/connectors"),
        )
    ]


def _brokers(site: Site) -> list[str]:
    if site.options.brokers == 1:
        return ["kafka"]
    return [f"kafka-{node}" for node in range(1, site.options.brokers + 1)]


def _prepare(site: Site, home: Path) -> None:
    """Write the worker's settings and link each plugin in a separate folder.

    The converter ships without a service manifest. The manifest is added here, because Connect would otherwise load
    every class of every jar to find plugins.
    """
    converter = home / "plugins" / "apicurio-converter"
    converter.mkdir(parents=True, exist_ok=True)
    for jar in site.jars.classpath("converter"):
        _link(converter / jar.name, jar)
    with ZipFile(converter / "manifest.jar", "w") as manifest:
        manifest.writestr(_CONVERTER_SERVICE, _AVRO_CONVERTER)
    _link(home / "plugins" / "debezium", site.jars.home("debezium"))
    write_properties(home / "worker.properties", worker_properties(site, home))


def _link(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def worker_properties(site: Site, home: Path) -> dict[str, str]:
    """Return the worker's settings. Values are JSON unless a connector sets a different converter."""
    copies = str(site.options.brokers)
    secured = {f"{client}{name}": value for client in _CLIENTS for name, value in site.security.java_client.items()}
    return {
        "bootstrap.servers": site.bootstrap,
        "group.id": "penstock-connect",
        "listeners": f"http://localhost:{site.settings.ports.connect}",
        "rest.advertised.host.name": "localhost",
        "plugin.path": str(home / "plugins"),
        "plugin.discovery": "service_load",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        **{
            f"{kind}.storage.{name}": value
            for kind in ("config", "offset", "status")
            for name, value in (("topic", f"connect.{kind}"), ("replication.factor", copies))
        },
        "offset.storage.partitions": "5",
        "offset.flush.interval.ms": "5000",
        "scheduled.rebalance.max.delay.ms": "5000",
        **secured,
    }
