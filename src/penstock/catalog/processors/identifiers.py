"""URNs of datasets in WhereHows' events."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql import types as T  # noqa: N812 - as above

from penstock.catalog.processors.columns import type_at

_DATASET = "urn:li:dataset:("
_FILE_SYSTEMS = ("hdfs", "webhdfs", "viewfs", "file", "nfs", "s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb")
"""Platforms whose dataset names are paths. On all others, the name is `db.table`."""


def dataset_urn(identifier: Column) -> Column:
    """Return the URN of `dataPlatformUrn`, `nativeName` and `dataOrigin`; null without an identifier."""
    platform, name = identifier.getField("dataPlatformUrn"), identifier.getField("nativeName")
    origin = identifier.getField("dataOrigin").cast("string")
    return F.concat(F.lit(_DATASET), platform, F.lit(","), name, F.lit(","), origin, F.lit(")"))


def given_urn(urn: Column) -> Column:
    """Return a dataset's URN unchanged; null for foreign URNs, such as `urn:salesforce:table:x`."""
    return F.when(urn.startswith(_DATASET), urn)


def uri_urn(uri: Column) -> Column:
    """Return the URN of the path `hdfs:///data/x` or of the table `hive:///db/t`; null without a platform."""
    platform = F.nullif(F.regexp_extract(uri, r"^(\w+)://", 1), F.lit(""))
    path = F.regexp_replace(uri, r"^\w+://[^/]*", "")
    table = F.replace(F.trim(path, F.lit("/")), F.lit("/"), F.lit("."))
    name = F.when(platform.isin(*_FILE_SYSTEMS), path).otherwise(table)
    return F.concat(F.lit(f"{_DATASET}urn:li:dataPlatform:"), platform, F.lit(","), name, F.lit(",PROD)"))


def urns_at(records: DataFrame, *paths: str) -> Column:
    """Return the URNs in the first existing list, as JSON; null if no list exists.

    Elements are URNs, identifiers, or records with `datasetUrn`, `dataset` or `datasetIdentifier`.
    """
    for path in paths:
        found = type_at(records.schema, path)
        if isinstance(found, T.ArrayType):
            return _urns(F.col(path), found.elementType)
    return F.lit(None).cast("string")


def _urns(items: Column, kind: T.DataType) -> Column:
    return F.to_json(F.array_distinct(F.transform(items, lambda item: _element_urn(kind, item))))


def _element_urn(kind: T.DataType, item: Column) -> Column:
    if not isinstance(kind, T.StructType):
        return item.cast("string")
    found = [given_urn(item[name]) for name in ("datasetUrn", "dataset") if name in kind.names]
    if "datasetIdentifier" in kind.names:
        found.append(dataset_urn(item["datasetIdentifier"]))
    if "nativeName" in kind.names:
        found.append(dataset_urn(item))
    return F.coalesce(*found) if found else F.lit(None).cast("string")
