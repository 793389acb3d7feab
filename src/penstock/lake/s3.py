"""S3 access without Spark, configured by the settings for Spark's `fs.s3a`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pyarrow import fs

_REGION = "us-east-1"
_CONNECT_SECONDS = 5.0
_ATTEMPTS = 3


@dataclass(frozen=True, repr=False)
class S3Access:
    """S3 endpoint and credentials. Without keys, the usual AWS variables and files apply."""

    endpoint: str | None = None
    access_key: str | None = None
    secret_key: str | None = None
    region: str = _REGION

    def filesystem(self, timeout: float) -> fs.FileSystem:
        """Create Arrow's file system. `timeout` limits each request, in seconds."""
        own: dict[str, Any] = {"access_key": self.access_key, "secret_key": self.secret_key} if self.access_key else {}
        if self.endpoint:
            scheme, address = urlsplit(self.endpoint)[:2]
            own |= {"scheme": scheme, "endpoint_override": address}
        return fs.S3FileSystem(
            region=self.region,
            connect_timeout=min(timeout, _CONNECT_SECONDS),
            request_timeout=timeout,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
            **own,
        )

    def delta_options(self, timeout: float) -> dict[str, str]:
        """Return the options for the Delta library."""
        given = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_ALLOW_HTTP": "true" if self.endpoint and self.endpoint.startswith("http:") else None,
            "timeout": f"{timeout:g}s",
        }
        return {name: value for name, value in given.items() if value is not None}


def s3_access(options: Mapping[str, Any]) -> S3Access:
    """Read Hadoop's options (`endpoint`, `access.key`, `secret.key`, `endpoint.region`, `connection.ssl.enabled`)."""
    plain = str(options.get("connection.ssl.enabled", "true")).lower() == "false"
    endpoint = options.get("endpoint")
    if endpoint and "://" not in str(endpoint):
        endpoint = f"{'http' if plain else 'https'}://{endpoint}"
    return S3Access(
        str(endpoint) if endpoint else None,
        options.get("access.key"),
        options.get("secret.key"),
        str(options.get("endpoint.region", _REGION)),
    )
