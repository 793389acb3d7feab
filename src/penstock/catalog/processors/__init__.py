"""The processors by their names; a user's own is named `module:Class`.

To add one: a file here with its class, and its line in `PROCESSORS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from penstock.catalog.processors.base import Processor
from penstock.config.suggest import did_you_mean
from penstock.errors import UsageError

PROCESSORS: Final = {
    "GobblinTrackingCompactionProcessor": "compaction",
    "GobblinTrackingDistcpNgProcessor": "distcp",
    "GobblinTrackingLumosProcessor": "lumos",
    "GobblinTrackingAuditProcessor": "file_audit",
    "MetastoreAuditProcessor": "metastore",
    "MetadataChangeProcessor": "metadata_change",
    "JobExecutionLineageProcessor": "job_execution",
}
"""The class of each built-in processor, under WhereHows' name, and the module it is in."""


def find_processor(name: str) -> type[Processor]:
    """The class of a processor: a built-in one by its name, with a Java package before it or not, or `module:Class`."""
    module, colon, attribute = name.partition(":")
    if not colon:
        attribute = name.rpartition(".")[2]
        if attribute not in PROCESSORS:
            hint = did_you_mean(attribute, PROCESSORS, "name a built-in one, or your own as module:Class")
            raise UsageError(f"there is no processor {name}", hint=hint)
        module = f"{__name__}.{PROCESSORS[attribute]}"
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"there is no processor {name}: {error}", hint="is its module on PYTHONPATH?") from error
    if not (isinstance(found, type) and issubclass(found, Processor)):
        raise UsageError(f"{name} is no processor", hint="a processor is a subclass of Processor or RecordProcessor")
    return found
