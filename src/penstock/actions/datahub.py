"""Bridge to DataHub's package: plugins derived from DataHub's base classes get DataHub's event classes.

Code written for DataHub asks `isinstance(event.event, EntityChangeEvent)`, sets fields and copies envelopes with
`dataclasses.replace`. Events are converted for such plugins only; everything else works on Penstock's cheaper views.
DataHub's modules are imported only here, and only if a plugin has imported them already or a file asks for its client.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from sys import intern
from typing import Any

from penstock.actions.context import PipelineContext
from penstock.errors import RecordInvalid
from penstock.events.envelope import EventEnvelope
from penstock.events.fields import Fields
from penstock.events.metadata import METADATA_CHANGE_LOG

_PACKAGE = "datahub_actions"
_MAX_REASON = 300


def is_datahub(plugin: Any) -> bool:  # noqa: ANN401 - any class with a plugin's methods
    """Return whether a class derives from a class of DataHub's package, which is then installed."""
    return any(base.__module__.partition(".")[0] == _PACKAGE for base in getattr(plugin, "__mro__", ()))


def create_plugin(plugin: Any, config: dict[str, Any], ctx: PipelineContext) -> Any:  # noqa: ANN401 - as above
    """Create an action, a transformer or a filter. Plugins for DataHub are wrapped and get DataHub's classes."""
    if not is_datahub(plugin):
        return plugin.create(config, ctx)
    return DatahubPlugin(plugin.create(config, _datahub_context(ctx)))


class DatahubPlugin:
    """Wrapper that calls a DataHub action, transformer or filter with events of DataHub's classes."""

    def __init__(self, plugin: Any) -> None:  # noqa: ANN401 - as above
        self._plugin = plugin

    def act(self, event: EventEnvelope) -> object:
        """Return what the action returns."""
        return self._plugin.act(to_datahub(event))

    def transform(self, event: EventEnvelope) -> EventEnvelope | None:
        """Return the transformed event around DataHub's content. The next step gets the content unconverted."""
        changed = self._plugin.transform(to_datahub(event))
        if changed is None:
            return None
        if not hasattr(changed, "event_type"):
            name = type(self._plugin).__name__
            raise RecordInvalid(f"{name}.transform returned {type(changed).__name__}, not an event")
        return EventEnvelope(changed.event_type, changed.event, changed.meta, event.record)

    def matches(self, event: EventEnvelope) -> bool:
        """Return what the filter returns."""
        return bool(self._plugin.matches(to_datahub(event)))

    def close(self) -> None:
        """Close the plugin, if possible."""
        close = getattr(self._plugin, "close", None)
        if close is not None:
            close()


def to_datahub(event: EventEnvelope) -> Any:  # noqa: ANN401 - a class of DataHub's
    """Return the event as DataHub's own envelope. Raise RecordInvalid if the content does not fit DataHub's class."""
    envelope = import_module("datahub_actions.event.event_envelope").EventEnvelope
    content: Any = event.event
    if isinstance(content, Fields):
        content = _content(event.event_type, content)
    return envelope(intern(event.event_type), content, event.meta)  # DataHub compares types with `is`


def _content(event_type: str, fields: Fields) -> Any:  # noqa: ANN401 - as above
    """Return the content as the class registered by DataHub for its type, or unchanged if no class is registered."""
    registry = import_module("datahub_actions.event.event_registry")
    event_class = registry.event_registry.mapping.get(event_type)
    try:
        if event_type == METADATA_CHANGE_LOG:  # not through JSON, which cannot hold the bytes inside
            log = registry.MetadataChangeLogClass.from_obj(fields.data)
            return registry.MetadataChangeLogEvent.from_class(log)
        return fields if event_class is None else event_class.from_json(fields.as_json())
    except Exception as error:  # DataHub's converter raises errors of many kinds
        reason = str(error).partition("\n")[0][:_MAX_REASON]
        hint = "DataHub's class is stricter than the event; a transformer before it may have changed the event's fields"
        raise RecordInvalid(f"the event does not fit DataHub's {event_type}: {reason}", hint=hint) from error


def _datahub_context(ctx: PipelineContext) -> Any:  # noqa: ANN401 - as above
    """Return DataHub's context for the pipeline, with Penstock's settings as an additional attribute."""
    context = import_module("datahub_actions.pipeline.pipeline_context").PipelineContext
    made = context(ctx.pipeline_name, ctx.graph, ctx.event_source)
    made.settings = ctx.settings
    return made


def connect_graph(config: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
    """Return a client for DataHub's server, configured by the `datahub:` section; None without DataHub's package."""
    if find_spec(_PACKAGE) is None:
        return None
    client = import_module("datahub.ingestion.graph.client")
    graph = client.DataHubGraph(client.DatahubClientConfig.model_validate(dict(config)))
    return import_module("datahub_actions.api.action_graph").AcrylDataHubGraph(graph)
