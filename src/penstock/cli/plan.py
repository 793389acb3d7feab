"""`penstock topics plan`: recommended number of partitions, with a reason for each figure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import JsonOption, settings
from penstock.cli.output import counted, err, out, right, show_json, show_table, text
from penstock.cli.signals import ends_by_signal
from penstock.config.units import parse_rate, parse_size, show_rate, show_size
from penstock.errors import UsageError
from penstock.events.record import TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import Cluster, read_cluster
from penstock.kafka.load import Acks, Load, made_up_records, sample_records
from penstock.kafka.measure import measure_partition
from penstock.kafka.plan import PARTITIONS_PER_BROKER, Need, Plan, Rates, Surroundings, plan_partitions
from penstock.kafka.topics import moved_share

_SAFE_COPIES = 3
_RECORD_BYTES = "1kB"
_LARGEST_RECORD = 1_000_000


class AcksChoice(StrEnum):
    """Acknowledgements required by a producer."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


_ACKS: dict[AcksChoice, Acks] = {AcksChoice.NONE: 0, AcksChoice.LEADER: 1, AcksChoice.ALL: "all"}


class CompressionChoice(StrEnum):
    """Compression of batches."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


@dataclass(frozen=True)
class Planned:
    """Plan for a topic, the conditions of the measurement, and the topic's current number of partitions."""

    topic: str
    plan: Plan
    how: str
    existing: int | None

    @property
    def command(self) -> str:
        """Command to apply the plan; empty if the topic has enough partitions."""
        name, number = shlex.quote(self.topic), self.plan.partitions
        if self.existing is None:
            return f"penstock topics create {name} --partitions {number} --replication {self.plan.need.replication}"
        return f"penstock topics alter {name} --partitions {number}" if self.existing < number else ""


def plan(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A topic that is there, or that is to be made.")],
    target: Annotated[str, typer.Option(metavar="RATE", help="What must go through: 50MB/s.")],
    record_bytes: Annotated[str | None, typer.Option(help="Size of a made-up record.  [default: 1kB]")] = None,
    sample: Annotated[Path | None, typer.Option(help="A file whose lines are your own records.")] = None,
    batch_bytes: Annotated[str, typer.Option(help="The producer's batches.")] = "1MB",
    compression: Annotated[CompressionChoice, typer.Option()] = CompressionChoice.LZ4,
    acks: Annotated[AcksChoice, typer.Option()] = AcksChoice.ALL,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Copies.  [default: the topic's, or 3 at most]")
    ] = None,
    processing_ms: Annotated[float, typer.Option(min=0, help="What a consumer works on one record.")] = 0.0,
    growth: Annotated[float, typer.Option(min=1, help="How many times the target is to fit one day.")] = 2.0,
    seconds: Annotated[float, typer.Option(min=0.5, max=60, help="How long sending and reading are measured.")] = 3.0,
    production_rate: Annotated[str | None, typer.Option(metavar="RATE", help="Known, so not measured.")] = None,
    consumption_rate: Annotated[str | None, typer.Option(metavar="RATE", help="Known, so not measured.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the throughput of a partition here, and plan the number of partitions.

    A topic with a single partition is created for the measurement and removed afterwards.

    Example: penstock topics plan orders --target 50MB/s --processing-ms 0.2
    """
    wanted, records = parse_rate(target), _records(record_bytes, sample)
    known = _known(production_rate, consumption_rate)
    with Admin(settings()) as admin, ends_by_signal():
        here = _Here.of(read_cluster(admin), topic)
        copies = replication or here.copies
        load = Load(records, parse_size(batch_bytes), compression.value, _ACKS[acks], copies)
        rates = known or measure_partition(admin, load, seconds, _tell)
    need = Need(wanted, growth, copies, load.record_bytes, processing_ms)
    planned = Planned(topic, plan_partitions(need, rates, here.around), _how(load, known), here.partitions)
    if as_json:
        show_json(_plan_json(planned))
    else:
        _show(planned)


@dataclass(frozen=True)
class _Here:
    """Current state of the cluster: existing partitions of the topic, existing or proposed copies, and the rest."""

    partitions: int | None
    copies: int
    around: Surroundings

    @classmethod
    def of(cls, cluster: Cluster, topic: str) -> _Here:
        """Read the state from the cluster."""
        layouts = cluster.topics.get(TopicName(topic), ())
        brokers, own = len(cluster.brokers), sum(len(layout.replicas) for layout in layouts)
        copies = len(layouts[0].replicas) if layouts else min(_SAFE_COPIES, brokers)
        return cls(len(layouts) or None, copies, Surroundings(brokers, cluster.replicas - own))


def _records(record_bytes: str | None, sample: Path | None) -> list[bytes]:
    if record_bytes and sample:
        raise UsageError("--record-bytes and --sample exclude each other", hint="a sample has its own sizes")
    if sample:
        return sample_records(sample)
    size = parse_size(record_bytes or _RECORD_BYTES)
    if not 1 <= size <= _LARGEST_RECORD:
        raise UsageError(f"--record-bytes {record_bytes}: a record has 1 B to {show_size(_LARGEST_RECORD)}")
    return made_up_records(size)


def _known(production: str | None, consumption: str | None) -> Rates | None:
    if production and consumption:
        return Rates(parse_rate(production), parse_rate(consumption))
    if production or consumption:
        raise UsageError(
            "only one of two rates is given", hint="give --production-rate and --consumption-rate, or none"
        )
    return None


def _tell(step: str) -> None:
    err.print(f"[dim]{step}[/]")


def _how(load: Load, known: Rates | None) -> str:
    if known:
        return "as you say"
    sizes = f"records of {show_size(load.record_bytes)}, batches of {show_size(load.batch_bytes)}"
    return f"with {sizes}, {load.compression}, acks={load.acks}, {_copies(load.replication)}"


def _copies(number: int) -> str:
    return f"{number} cop{'y' if number == 1 else 'ies'}"


def _show(planned: Planned) -> None:
    plan = planned.plan
    out.print(f"[bold]{text(planned.topic)}[/] needs [bold]{counted(plan.partitions, 'partition')}[/]")
    show_table(("", right("number"), "why"), list(_reasons(planned)))
    if not plan.fits:
        out.print(
            f"[red]too many for {counted(plan.around.brokers, 'broker')}[/]: add brokers, or let each partition take "
            "more (larger batches, compression, faster consumers)"
        )
    out.print(
        "more partitions can mean more latency: a record can be read only after every in-sync replica has it, "
        "and brokers copy partitions one after another"
    )
    _show_step(planned)


def _reasons(planned: Planned) -> Iterator[tuple[str, str, str]]:
    plan, need, around = planned.plan, planned.plan.need, planned.plan.around
    yield "t", show_rate(need.target), "The topic has to carry this."
    yield "p", show_rate(plan.rates.production), f"One partition takes this in production, {planned.how}."
    yield "c", show_rate(plan.consumption), _why_consumption(plan)
    yield "t/p", f"{plan.for_production:,}", "Production needs so many partitions."
    yield "t/c", f"{plan.for_consumption:,}", "Consumption needs so many, with one consumer for each."
    yield "max", f"{plan.at_least:,}", "The larger of the two is the least for the target as it is."
    grown = f"So many carry {need.growth:g} times the target; to add them only then would move keys."
    yield "growth", f"{plan.partitions:,}", grown
    rule = f"{PARTITIONS_PER_BROKER} x {counted(around.brokers, 'broker')} x {_copies(need.replication)}"
    yield "limit", f"{plan.limit:,}", f"A broker should keep no more copies of partitions than {rule}."
    yield "keeps", f"{plan.on_each_broker:,}", "Each broker would keep so many, of this topic and all others."


def _why_consumption(plan: Plan) -> str:
    if plan.processing is None or plan.processing >= plan.rates.consumption:
        return "One consumer reads this from one partition."
    return (
        f"One consumer gets through this: it reads {show_rate(plan.rates.consumption)}, but works "
        f"{plan.need.processing_ms:g} ms on each record of {show_size(plan.need.record_bytes)}."
    )


def _show_step(planned: Planned) -> None:
    topic, wanted, existing = text(planned.topic), planned.plan.partitions, planned.existing
    if existing is None:
        out.print("create it with:")
    elif existing < wanted:
        moves = f"{moved_share(existing, wanted):.0%} of the keys move"
        out.print(f"{topic} has {counted(existing, 'partition')}, {wanted - existing} too few; to add them ({moves}):")
    else:
        out.print(f"{topic} has {counted(existing, 'partition')}, which is enough")
    if planned.command:
        out.print(f"  [bold]{text(planned.command)}[/]")


def _plan_json(planned: Planned) -> dict[str, object]:
    plan = planned.plan
    return {
        "topic": planned.topic,
        "partitions": plan.partitions,
        "existing": planned.existing,
        "target": plan.need.target,
        "growth": plan.need.growth,
        "replication": plan.need.replication,
        "production": plan.rates.production,
        "consumption": plan.consumption,
        "for_production": plan.for_production,
        "for_consumption": plan.for_consumption,
        "at_least": plan.at_least,
        "limit": plan.limit,
        "on_each_broker": plan.on_each_broker,
        "fits": plan.fits,
        "how": planned.how,
        "command": planned.command,
    }
