"""Storage locations (directories and `s3a://` addresses) in a form valid on any executor, with the required jars."""

from __future__ import annotations

from penstock.spark.files import is_local, local_path

_S3 = "s3a://"


def absolute(location: str) -> str:
    """Return the location independent of the process's working directory."""
    return str(local_path(location)) if is_local(location) else location.rstrip("/")


def jars_for(location: str) -> frozenset[str]:
    """Return the parts of the lock that a location needs."""
    return frozenset({"s3a"}) if location.startswith(_S3) else frozenset()
