"""S3 settings for Hadoop's file system `s3a`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_AMAZON: Final = "amazonaws."
_OTHERS: Final[Mapping[str, object]] = {"path.style.access": "true", "endpoint.region": "us-east-1"}
"""For stores other than Amazon S3: buckets have no host names, and the region is ignored."""


def s3a_settings(s3: Mapping[str, object]) -> dict[str, object]:
    """Return Hadoop's settings for a store, under their full names."""
    endpoint = str(s3.get("endpoint", ""))
    usual = _OTHERS if endpoint and _AMAZON not in endpoint else {}
    return {f"fs.s3a.{name}": value for name, value in {**usual, **s3}.items()}
