"""`penstock brokers`: brokers, and their settings with source and advice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from penstock.cli.options import JsonOption, settings
from penstock.cli.output import counted, out, right, show_json, show_table, text
from penstock.cli.setting_cells import source_cell, value_cell
from penstock.config.units import show_size
from penstock.errors import KafkaRefused, NotAuthorized, UsageError
from penstock.kafka.admin import Admin
from penstock.kafka.advice import ADVISED, advice
from penstock.kafka.cluster import Broker, BrokerId, read_cluster
from penstock.kafka.configs import Setting, Source, broker_settings
from penstock.kafka.log_dirs import LogDir, read_log_dirs

app = typer.Typer(no_args_is_help=True, help="Brokers: list them, and show their settings with source and advice.")


@app.command("list")
def list_brokers(as_json: JsonOption = False) -> None:
    """List brokers with their disks and their number of leading and stored partitions.

    Example: penstock brokers list
    """
    with Admin(settings()) as admin:
        cluster = read_cluster(admin)
        try:
            disks, note = read_log_dirs(admin), ""
        except (NotAuthorized, KafkaRefused) as error:
            disks, note = [], error.message
    rows = [(broker, [disk for disk in disks if disk.broker == broker.id]) for broker in cluster.brokers]
    if as_json:
        show_json({"cluster": cluster.id, "brokers": [_broker_json(broker, disks) for broker, disks in rows]})
        return
    out.print(f"cluster [bold]{text(cluster.id)}[/]: {counted(len(rows), 'broker')}")
    columns = (right("id"), "address", right("leads"), right("keeps"), right("size"), right("disk free"))
    show_table(columns, [_broker_row(broker, disks) for broker, disks in rows])
    if note:
        out.print(f"[yellow]not shown[/] {text(note)}")


def _used(disks: Iterable[LogDir]) -> int:
    return sum(size for disk in disks for size in disk.sizes.values())


def _broker_row(broker: Broker, disks: list[LogDir]) -> tuple[object, ...]:
    free = [disk.free for disk in disks if disk.free is not None]
    sizes = (show_size(_used(disks)) if disks else "-", show_size(min(free)) if free else "-")
    return broker.id, text(f"{broker.host}:{broker.port}"), f"{broker.leads:,}", f"{broker.keeps:,}", *sizes


def _broker_json(broker: Broker, disks: list[LogDir]) -> dict[str, object]:
    directories = [{"path": disk.path, "disk": disk.disk, "free": disk.free, "size": _used([disk])} for disk in disks]
    return {**asdict(broker), "directories": directories}


@dataclass(frozen=True)
class SettingOnBrokers:
    """Setting, with the brokers of equal value and source."""

    setting: Setting
    brokers: tuple[BrokerId, ...]

    @property
    def advice(self) -> str:
        """Advice if production needs a different value."""
        return advice(self.setting.name, self.setting.value)


@app.command("settings")
def show_settings(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Settings whose name contains this.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="All settings, defaults too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show settings with their source, and advice for production.

    Example: penstock brokers settings retention
    """
    with Admin(settings()) as admin:
        brokers = [broker.id for broker in read_cluster(admin).brokers]
        found = agreeing(broker_settings(admin, brokers))
    shown = [row for row in found if _wanted(row.setting, name, everything=everything)]
    if not shown:
        raise UsageError(f"no setting has {name!r} in its name", hint="`penstock brokers settings --all` lists them")
    if as_json:
        show_json([{**asdict(row.setting), "brokers": row.brokers, "advice": row.advice} for row in shown])
        return
    rows = [_setting_row(row, everywhere=len(row.brokers) == len(brokers)) for row in shown]
    show_table(("setting", "value", "source"), rows)
    advised = {text(row.setting.name): row.advice for row in shown if row.advice}
    if advised:
        show_table(("setting", "advice for production"), advised.items())


def agreeing(found: dict[BrokerId, list[Setting]]) -> list[SettingOnBrokers]:
    """Group settings by value and source among the brokers."""
    brokers: dict[Setting, list[BrokerId]] = {}
    for broker, its_settings in found.items():
        for setting in its_settings:
            brokers.setdefault(setting, []).append(broker)
    rows = (SettingOnBrokers(setting, tuple(ids)) for setting, ids in brokers.items())
    return sorted(rows, key=lambda row: (row.setting.name, row.brokers))


def _wanted(setting: Setting, part: str, *, everything: bool) -> bool:
    if part:
        return part.lower() in setting.name
    return everything or setting.name in ADVISED or setting.source is not Source.DEFAULT


def _setting_row(row: SettingOnBrokers, *, everywhere: bool) -> tuple[object, ...]:
    setting = row.setting
    where = "" if everywhere else f" [dim]broker {' '.join(map(str, row.brokers))}[/]"
    return text(setting.name), value_cell(setting.name, setting.value) + where, source_cell(setting.source)
