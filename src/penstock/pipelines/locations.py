"""Directories and `s3a://` addresses as executors anywhere understand them, and the jars that they need."""

from __future__ import annotations

from penstock.spark.files import is_local, local_path

_S3 = "s3a://"


def absolute(location: str) -> str:
    """The location with nothing left that depends on where a process runs."""
    return str(local_path(location)) if is_local(location) else location.rstrip("/")


def jars_for(location: str) -> frozenset[str]:
    """The parts of the lock that a location needs."""
    return frozenset({"s3a"}) if location.startswith(_S3) else frozenset()
