"""Processors by name. Users' own processors are named `module:Class`.

To add a processor, add a file with its class here, and a line in `PROCESSORS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from inspect import isabstract
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.catalog.processors.base import Processor
from penstock.catalog.staging.tables import (
    COMPACTION,
    DISTCP,
    FILE_AUDIT,
    JOB_EXECUTION,
    LUMOS,
    METADATA_CHANGE,
    METASTORE_AUDIT,
    TableName,
)
from penstock.config.suggest import did_you_mean
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.catalog.processors.columns import Cluster


class BuiltIn(NamedTuple):
    """Module of a processor, and the table for its rows."""

    module: str
    table: TableName


PROCESSORS: Final = {
    "GobblinTrackingCompactionProcessor": BuiltIn("compaction", COMPACTION),
    "GobblinTrackingDistcpNgProcessor": BuiltIn("distcp", DISTCP),
    "GobblinTrackingLumosProcessor": BuiltIn("lumos", LUMOS),
    "GobblinTrackingAuditProcessor": BuiltIn("file_audit", FILE_AUDIT),
    "MetastoreAuditProcessor": BuiltIn("metastore", METASTORE_AUDIT),
    "MetadataChangeProcessor": BuiltIn("metadata_change", METADATA_CHANGE),
    "JobExecutionLineageProcessor": BuiltIn("job_execution", JOB_EXECUTION),
    "MetadataLineageProcessor": BuiltIn("job_execution", JOB_EXECUTION),
}
"""Built-in processors by WhereHows' name."""


def own_table(name: str) -> TableName | None:
    """Return the table of a built-in processor, None for a user's own processor."""
    found = PROCESSORS.get(name.rpartition(".")[2])
    return found and found.table


def find_processor(name: str) -> type[Processor]:
    """Return the class of a processor: a built-in name, with or without a Java package, or `module:Class`."""
    module, colon, attribute = name.partition(":")
    if not colon:
        attribute = name.rpartition(".")[2]
        if attribute not in PROCESSORS:
            hint = did_you_mean(attribute, PROCESSORS, "name a built-in one, or your own as module:Class")
            raise UsageError(f"there is no processor {name}", hint=hint)
        module = f"{__name__}.{PROCESSORS[attribute].module}"
    found = _imported(name, module, attribute)
    if not (isinstance(found, type) and issubclass(found, Processor)):
        raise UsageError(f"{name} is no processor", hint="a processor is a subclass of Processor or RecordProcessor")
    if isabstract(found):
        raise UsageError(f"{name} lacks {' and '.join(sorted(found.__abstractmethods__))}", hint="see its base class")
    return found


def make_processor(name: str, clusters: Sequence[Cluster]) -> Processor:
    """Create a processor by name. Raise UsageError for an unknown name or an error in user code."""
    found = find_processor(name)
    try:
        return found(clusters)
    except Exception as error:  # a user's code may raise anything, and must not stop the other jobs
        raise UsageError(f"the processor {name} cannot be made: {_told(error)}") from error


def _imported(name: str, module: str, attribute: str) -> object:
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"there is no processor {name}: {error}", hint="is its module on PYTHONPATH?") from error
    except Exception as error:  # as in make_processor: a user's module may raise anything
        raise UsageError(f"the processor {name} cannot be imported: {_told(error)}") from error


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
