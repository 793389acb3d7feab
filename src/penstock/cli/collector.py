"""`penstock collector`: accept events over HTTP and write the events to Kafka."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.catalog.own_datasets import OwnDataset, avro_fields, topic_urn
from penstock.cli.catalog_telling import Statements, told_to_catalog
from penstock.cli.options import loaded_settings
from penstock.cli.output import err, text
from penstock.collector.config import CollectorSettings, collector_settings
from penstock.collector.server import serve
from penstock.collector.topics import load_topics
from penstock.config import Settings
from penstock.config.listening import listen
from penstock.errors import NotAuthorized, Transient
from penstock.kafka.acknowledged import check_options
from penstock.kafka.topics import ensure_dead_letters
from penstock.schemas import Schema


def run(
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on; default 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; default 8000.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that share the port; default 1.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check the settings and schemas, then end.")] = False,
) -> None:
    """Accept events over HTTP. After a success response, all in-sync replicas in Kafka have the event.

    The `collector:` section of penstock.yaml lists the accepted topics, their schemas, and the permitted senders.

    Example: [bold]penstock collector --port 8000[/]
    """
    loaded = loaded_settings(**{"collector.host": host, "ports.collector": port, "collector.workers": workers})
    collector = collector_settings(loaded)
    load_topics(collector, loaded.place)
    check_options(loaded.settings, max_bytes=collector.buffer, give_up=collector.give_up_after)
    if check:
        err.print("the collector's settings and schemas are in order")
        return
    with listen(collector.host, loaded.settings.ports.collector, "ports.collector") as listener:
        _announce(collector, listener.getsockname()[1], loaded.settings.bootstrap)
        _prepare_dead_letters(loaded.settings, collector.dead_letters)
        datasets = _datasets(collector)
        with told_to_catalog(lambda: datasets, loaded):
            serve(loaded.settings, collector, listener)
    err.print("collector ended; Kafka has acknowledged all that was accepted")


def _prepare_dead_letters(settings: Settings, topic: str | None) -> None:
    """Create the dead-letter topic. The collector also starts if Kafka is unreachable or denies creating the topic."""
    if topic is None:
        return
    try:
        ensure_dead_letters(settings, topic)
    except (Transient, NotAuthorized) as error:
        err.print(f"[yellow]warning[/] the topic of the dead letters was not looked after: {text(error.message)}")


def _datasets(collector: CollectorSettings) -> Statements:
    """Return the topics as datasets of the catalog."""
    schemas = {name: Schema.from_file(topic.schema_file) for name, topic in collector.topics.items()}
    return {"collector": [OwnDataset(topic_urn(name), avro_fields(schema)) for name, schema in schemas.items()]}


def _announce(collector: CollectorSettings, port: int, bootstrap: str) -> None:
    host = f"[{collector.host}]" if ":" in collector.host else collector.host
    url = f"http://{host}:{port}"
    err.print(f"collector takes events for {text(', '.join(collector.topics))} into Kafka at {text(bootstrap)}")
    err.print(text(f"  curl {url}/events -H 'content-type: application/json' -d '{{…}}'"))
    err.print(f"  {url}/docs describes it; Ctrl-C ends it")
    if collector.is_open:
        err.print("[yellow]warning[/] anybody who reaches this address may send: the settings hold no collector.keys")
