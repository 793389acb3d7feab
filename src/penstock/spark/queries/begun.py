"""Remember which sinks have started, to distinguish a new sink from a sink whose state was lost."""

from __future__ import annotations

import json
from collections.abc import Mapping

from penstock.spark.files import Files
from penstock.spark.queries.state import QueryState


def new_sinks(files: Files, path: str, states: Mapping[str, QueryState]) -> set[str]:
    """Return the sinks that are new beside sinks started earlier. Record all started sinks in the file.

    Without a record, the pipeline runs for the first time or has lost all states: then no sink is new. Sinks are
    recorded before the first sink starts, so a crash does not make the remaining sinks look new.
    """
    noted = files.read(path)
    moved = {name for name, state in states.items() if state.has_position()}
    before = set(json.loads(noted)) if noted else moved or set(states)
    begun = before | moved
    if noted is None or begun != before:
        files.write(path, json.dumps(sorted(begun)).encode())
    return set(states) - begun
