"""Display of the catalog's datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from penstock.catalog.find.dataset import DatasetView
from penstock.catalog.find.lineage import Step
from penstock.cli.output import counted, lines, out, right, show_table, text


def moment(time: datetime | None) -> str:
    """Format a time in UTC, to the second."""
    return "" if time is None else f"{time:%Y-%m-%d %H:%M:%S}"


def show_dataset(found: DatasetView) -> None:
    """Print all information about a dataset, section by section."""
    row = found.dataset
    out.print(f"[bold]{text(row['name'])}[/]  {text(row['platform'])}, {text(row['origin'])}, {text(row['status'])}")
    out.print(f"[dim]{text(row['urn'])}[/]")
    if row["deprecated"]:
        out.print(f"[yellow]deprecated[/] {text(row['deprecation_note'] or '')}")
    if row["description"]:
        out.print(lines(row["description"]))
    if found.tags:
        out.print(f"tags {text(', '.join(found.tags))}")
    if row["properties"]:
        show_table(
            ("property", "value"), ((text(key), text(value)) for key, value in sorted(row["properties"].items()))
        )
    _show_schema(found)
    show_owners(found.owners)
    _show_loads(found.loads)
    for title, urns in (("comes from", found.upstream), ("goes to", found.downstream)):
        for urn in urns:
            out.print(f"{title} {text(urn)}")


def show_owners(owners: Sequence[Mapping[str, Any]]) -> None:
    """Print current and former owners, and mark owners from the prevailing source."""
    if not owners:
        out.print("no owner is known")
        return
    rows = (
        (
            text(row["owner"]),
            text(row["owner_type"]),
            text(row["source"]),
            moment(row["valid_from"]),
            moment(row["valid_to"]),
            "yes" if row["counts"] else "",
        )
        for row in owners
    )
    show_table(("owner", "type", "source", "from", "to", "current"), rows)


def show_steps(title: str, steps: Sequence[Step]) -> None:
    """Print lineage in a single direction, indented by distance."""
    if not steps:
        out.print(f"{title} nothing that is known")
    for step in steps:
        by = f" by {text(step.job)}" if step.job else ""
        out.print(f"{'  ' * (step.depth - 1)}{title} {text(step.far)} [dim]{text(step.kind.lower())}{by}[/]")


def _show_schema(found: DatasetView) -> None:
    if not found.schemas:
        out.print("no schema is known")
        return
    newest = found.schemas[0]
    rows = ((text(item["path"]), text(item["type"]), "yes" if item["nullable"] else "no") for item in found.fields)
    title = f"schema version {newest['version']}, from {moment(newest['valid_from'])}"
    show_table(("field", "type", "nullable"), rows, title=title)
    for version in found.schemas:
        changes = ((len(version["diff"][kind]), kind) for kind in ("added", "removed", "modified"))
        told = ", ".join(f"{counted(count, 'field')} {kind}" for count, kind in changes if count)
        out.print(f"version {version['version']} {moment(version['valid_from'])} {told or 'same fields'}")


def _show_loads(loads: Sequence[Mapping[str, Any]]) -> None:
    if not loads:
        return
    rows = (
        (
            text(row["cluster"]),
            text(row["operation_type"]),
            text(row["partition_expr"]),
            "" if row["record_count"] is None else f"{row['record_count']:,}",
            moment(row["log_time"]),
        )
        for row in loads
    )
    show_table(("cluster", "operation", "partition", right("records"), "at"), rows)
