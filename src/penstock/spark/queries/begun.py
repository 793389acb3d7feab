"""Which sinks of a pipeline have begun to read, so that a new one is told apart from one that has lost its state."""

from __future__ import annotations

import json
from collections.abc import Mapping

from penstock.spark.files import Files
from penstock.spark.queries.state import QueryState


def new_sinks(files: Files, path: str, states: Mapping[str, QueryState]) -> set[str]:
    """The sinks that are new beside others that have begun before; those that have begun are noted in the file.

    Where nothing is noted, the pipeline runs for the first time or has lost all states: then none of them is new. They
    are noted before the first of them starts, so that a crash does not make those that follow look new.
    """
    noted = files.read(path)
    moved = {name for name, state in states.items() if state.has_position()}
    before = set(json.loads(noted)) if noted else moved or set(states)
    begun = before | moved
    if noted is None or begun != before:
        files.write(path, json.dumps(sorted(begun)).encode())
    return set(states) - begun
