"""Datasets as WhereHows' events name them, as URNs."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them


def dataset_urn(identifier: Column) -> Column:
    """The URN of `dataPlatformUrn`, `nativeName` and `dataOrigin`; null if there is no identifier."""
    platform, name = identifier.getField("dataPlatformUrn"), identifier.getField("nativeName")
    origin = identifier.getField("dataOrigin").cast("string")
    return F.concat(F.lit("urn:li:dataset:("), platform, F.lit(","), name, F.lit(","), origin, F.lit(")"))


def uri_urn(uri: Column) -> Column:
    """The URN of what lies at `hdfs:///data/x`, or at another platform's address; null if there is none."""
    platform = F.nullif(F.regexp_extract(uri, r"^(\w+)://", 1), F.lit(""))
    path = F.regexp_replace(uri, r"^\w+://[^/]*", "")
    return F.concat(F.lit("urn:li:dataset:(urn:li:dataPlatform:"), platform, F.lit(","), path, F.lit(",PROD)"))
