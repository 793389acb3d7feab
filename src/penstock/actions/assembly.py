"""Assembly of a pipeline's parts from its spec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from penstock.actions.clients import Clients
from penstock.actions.context import PipelineContext
from penstock.actions.datahub import create_plugin
from penstock.actions.decoding import EventDecoder
from penstock.actions.failed_events import FailedEvents
from penstock.actions.filter import Everything, Filter
from penstock.actions.filters import compile_filter
from penstock.actions.lines import LineDecoder, PutsNothingOff
from penstock.actions.path import Stages
from penstock.actions.preview import Preview, PreviewFailures, Tell
from penstock.actions.registry import ACTIONS, TRANSFORMERS, Kind, find_class
from penstock.actions.retries import Retries, told
from penstock.actions.spec import PipelineSpec, Plugin
from penstock.errors import ActionFailed, PenstockError
from penstock.schemas import AvroCodec, connect_registry


@dataclass(frozen=True)
class Mode:
    """Special modes of a run: stop after `limit` events, read `events` from a file, or preview without acting."""

    limit: int | None = None
    events: Path | None = None
    preview: Tell | None = None


def assemble(spec: PipelineSpec, clients: Clients, ctx: PipelineContext, mode: Mode) -> Stages:
    """Create every part of a pipeline. An error while an action or a transformer is created ends the pipeline."""
    has_filter = spec.filter is not None or spec.filters
    wanted: Filter = compile_filter(spec.filter, spec.filters, ctx=ctx) if has_filter else Everything()
    codec = AvroCodec(connect_registry(clients.others))
    messages = EventDecoder(spec.source.config.routes(), codec, wanted)
    return Stages(
        decoder=messages if mode.events is None else LineDecoder(messages),
        filter=wanted,
        transformers=[_made(TRANSFORMERS, step, ctx) for step in spec.transform],
        action=_action(spec, ctx, mode),
        retries=Retries.of(spec.options),
        failure_mode="CONTINUE" if mode.preview else spec.options.failure_mode,
        failed=PreviewFailures(mode.preview) if mode.preview else _failed_events(spec, clients, mode),
    )


def _action(spec: PipelineSpec, ctx: PipelineContext, mode: Mode) -> Any:  # noqa: ANN401 - any class with the methods
    if mode.preview:
        return Preview(spec.action.type, mode.preview)
    action = _made(ACTIONS, spec.action, ctx)
    return action if mode.events is None else PutsNothingOff(action)


def _failed_events(spec: PipelineSpec, clients: Clients, mode: Mode) -> FailedEvents:
    """Return the failed-event store. Failing lines of an events file go to the file only: Kafka has their messages."""
    directory = spec.options.failed_events_dir or clients.others.data / "actions"
    topic = spec.dead_letters if mode.events is None else None
    return FailedEvents(spec.name, directory / spec.directory, topic, clients.others)


def _made(kind: Kind, plugin: Plugin, ctx: PipelineContext) -> Any:  # noqa: ANN401 - any class with the kind's methods
    try:
        return create_plugin(find_class(kind, plugin.type), plugin.config, ctx)
    except PenstockError:
        raise
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ActionFailed(f"{kind.name} {plugin.type}: config: {wrong}", hint="see what it takes") from error
    except Exception as error:  # a user's class may raise anything; the error ends the pipeline
        raise ActionFailed(f"{kind.name} {plugin.type} cannot be made: {told(error)[1]}") from error
