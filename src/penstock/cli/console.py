"""`penstock console`: read-only HTTP API of the catalog."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.options import settings
from penstock.cli.output import err, text
from penstock.config.listening import listen
from penstock.console.server import serve


def run(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="Port to listen on; default 9000.")] = None,
) -> None:
    """Serve the catalog read-only to other tools: a REST API with the JSON of `penstock catalog`.

    Example: [bold]penstock console --port 9000[/]
    """
    chosen = settings(**{"ports.console": port})
    with listen(host, chosen.ports.console, "ports.console") as listener:
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}"
        err.print(f"console is at {text(url)}; Ctrl-C ends it")
        err.print(f"  curl '{text(url)}/api/catalog/search?q=page+view'")
        serve(chosen, listener)
    err.print("console ended")
