"""Processor of metadata change events, which describe or delete datasets."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.catalog.processors.base import Processor
from penstock.catalog.processors.columns import field, first_problem, missing, rows, type_at
from penstock.catalog.processors.identifiers import dataset_urn, given_urn, uri_urn, urns_at
from penstock.spark.decoding import KAFKA

_STAMPS = ("changeAuditStamp", "datasetProperty.changeAuditStamp", "datasetProperties.changeAuditStamp")
_PROPERTIES = ("datasetProperty", "datasetProperties")
_SCHEMAS = ("schema", "schema.member0")
"""The second form has a union of DatasetSchema and Schemaless here. Spark reads the union as member0 and member1."""

_SCHEMALESS = "schema.member1"
_FIELDS = tuple(f"{path}.{name}" for path in _SCHEMAS for name in ("fieldSchema", "fields"))
_DEPRECATED = ("deprecation.deprecated", "deprecated")
_NOTES = ("deprecation.note", "deprecationNote")
_UPSTREAMS = ("upstreams", "upstreamLineage.upstreams")
_OWNERS = ("OWNER", "DATA_OWNER")
_SHOWN = ("nativeType", "uri", "storageType")


class MetadataChangeProcessor(Processor):
    """Reads both of WhereHows' forms of the event. Parts missing from an event leave the catalog unchanged.

    The dataset comes from `urn`, from `datasetIdentifier`, or from the properties' `uri`. In addition to WhereHows'
    parts, `deprecation` and `upstreams` are read in DataHub's form.
    """

    columns: ClassVar = (
        *("urn", "change_type", "actor", "description", "properties", "schema_fields", "owners", "tags"),
        *("deprecated", "deprecation_note", "upstreams", "log_event_time"),
    )

    def transform(self, records: DataFrame) -> DataFrame:
        """Return one row per event."""
        stamp_type = field(records, *(f"{path}.type" for path in _STAMPS)).cast("string")
        time = field(records, "auditHeader.time", *(f"{path}.time" for path in _STAMPS)).cast("long")
        urn = _urn(records)
        selected = records.select(
            urn.alias("urn"),
            F.when(stamp_type == F.lit("DELETE"), F.lit("DELETE")).otherwise(F.lit("UPSERT")).alias("change_type"),
            field(records, *(f"{path}.actorUrn" for path in _STAMPS)).alias("actor"),
            field(records, *(f"{path}.description" for path in _SCHEMAS)).alias("description"),
            _properties(records).alias("properties"),
            _fields(records).alias("schema_fields"),
            _owners(records).alias("owners"),
            _tags(records).alias("tags"),
            field(records, *_DEPRECATED).cast("boolean").alias("deprecated"),
            field(records, *_NOTES).alias("deprecation_note"),
            urns_at(records, *_UPSTREAMS).alias("upstreams"),
            time.alias("log_event_time"),
            first_problem(
                missing("dataset: urn, datasetIdentifier or a uri", urn),
                missing("auditHeader.time", time),
            ),
            KAFKA,
        )
        return rows(selected, self.columns)


def _urn(records: DataFrame) -> Column:
    """Return the dataset's URN. A foreign URN is only used if there is no other name; staging then rejects the row."""
    given = field(records, "urn")
    found = [given_urn(given)]
    if type_at(records.schema, "datasetIdentifier"):
        found.append(dataset_urn(F.col("datasetIdentifier")))
    uris = [f"{path}.uri" for path in _PROPERTIES]
    return F.coalesce(*found, uri_urn(field(records, *uris)), given)


def _properties(records: DataFrame) -> Column:
    """Return how the dataset is stored, as JSON; null if the event has no properties."""
    found = [field(records, *(f"{path}.{name}" for path in _PROPERTIES)).cast("string").alias(name) for name in _SHOWN]
    given = [F.col(path).isNotNull() for path in _PROPERTIES if type_at(records.schema, path)]
    return F.when(given[0], F.to_json(F.struct(*found))) if given else F.lit(None).cast("string")


def _fields(records: DataFrame) -> Column:
    """Return the fields as JSON: an empty list for a dataset without schema, null if the event has no schema part."""
    path, element = _list_at(records, _FIELDS)
    if element is None:
        return F.lit(None).cast("string")
    kind = "type" if "type" in element.names else "nativeDataType"
    described = "description" in element.names
    given = F.to_json(
        F.transform(
            F.col(path),
            lambda item: F.struct(
                item["fieldPath"].alias("path"),
                item[kind].alias("type"),
                F.coalesce(item["nullable"], F.lit(True)).alias("nullable"),
                *([item["description"].alias("description")] if described else []),
            ),
        )
    )
    is_union = type_at(records.schema, _SCHEMALESS) is not None
    return F.coalesce(given, F.when(F.col(_SCHEMALESS).isNotNull(), F.lit("[]"))) if is_union else given


def _owners(records: DataFrame) -> Column:
    path, element = _list_at(records, ("owners", "owners.owners"))
    if element is None:
        return F.lit(None).cast("string")
    name = "owner" if "owner" in element.names else "ownerUrn"
    return F.to_json(
        F.transform(
            F.col(path),
            lambda item: F.struct(
                item[name].alias("owner"), _owner_type(item["ownerCategory"].cast("string")).alias("type")
            ),
        )
    )


def _owner_type(category: Column) -> Column:
    """Return DataHub's owner type. WhereHows' two names for an owner map to one."""
    is_owner = category.isNull() | category.isin(*_OWNERS)
    return F.when(is_owner, F.lit("DATAOWNER")).otherwise(category)


def _tags(records: DataFrame) -> Column:
    found = type_at(records.schema, "tags")
    is_list = isinstance(found, T.ArrayType) and isinstance(found.elementType, T.StringType)
    return F.to_json(F.col("tags")) if is_list else F.lit(None).cast("string")


def _list_at(records: DataFrame, paths: tuple[str, ...]) -> tuple[str, T.StructType | None]:
    """Return the first path with a list of records, and the type of the elements."""
    for path in paths:
        found = type_at(records.schema, path)
        if isinstance(found, T.ArrayType) and isinstance(found.elementType, T.StructType):
            return path, found.elementType
    return "", None
