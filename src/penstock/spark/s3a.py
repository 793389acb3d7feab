"""S3 as Hadoop's file system `s3a` is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_AMAZON: Final = "amazonaws."
_OTHERS: Final[Mapping[str, object]] = {"path.style.access": "true", "endpoint.region": "us-east-1"}
"""For stores that are not Amazon's: their buckets have no host names of their own, and they ask for no region."""


def s3a_settings(s3: Mapping[str, object]) -> dict[str, object]:
    """Hadoop's settings for a store, by their full names."""
    endpoint = str(s3.get("endpoint", ""))
    usual = _OTHERS if endpoint and _AMAZON not in endpoint else {}
    return {f"fs.s3a.{name}": value for name, value in {**usual, **s3}.items()}
