"""`penstock config`: settings with value and source."""

from __future__ import annotations

from penstock.cli.options import JsonOption, loaded_settings
from penstock.cli.output import show_json, show_table, text
from penstock.config.settings import shown_settings


def show(*, json: JsonOption = False) -> None:
    """Show every setting with its value and source. Secrets are hidden.

    Example: [bold]PENSTOCK_BOOTSTRAP=kafka-1:9092 penstock config[/]
    """
    rows = list(shown_settings(loaded_settings()))
    if json:
        show_json([{"setting": name, "value": value, "source": source} for name, value, source in rows])
    else:
        show_table(("setting", "value", "from"), ((name, text(value), text(source)) for name, value, source in rows))
