"""`penstock lake compact`: replace many small files by few large ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from penstock.cli.options import JsonOption, settings
from penstock.cli.output import counted, out, show_json, text
from penstock.config.units import parse_size, show_size
from penstock.lake.compaction import compact_table


def compact(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's name.")],
    target_size: Annotated[str, typer.Option(help="How large files are to be.")] = "128MiB",
    lake: Annotated[str | None, typer.Option(help="Where the tables are; default: the setting lake.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Merge a table's small files. Pipelines keep writing, and no reader sees a record twice or not at all.

    Example: penstock lake compact events
    """
    did = compact_table(settings(lake=lake), table, parse_size(target_size))
    if as_json:
        show_json(asdict(did))
    elif did.files_before:
        sizes = f"{show_size(did.bytes_before)} to {show_size(did.bytes_after)}"
        out.print(f"merged {counted(did.files_before, 'file')} of {text(did.table)} into {did.files_after:,}, {sizes}")
    else:
        out.print(f"{text(did.table)} has no files to merge")
