"""Options of Spark's Kafka clients: librdkafka settings translated to the Java client's names.

Settings that only librdkafka knows (queues, statistics, timeouts) are omitted: Spark configures the Java client's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.config import Settings

_SAME = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.kerberos.service.name",
    "ssl.endpoint.identification.algorithm",
    "request.timeout.ms",
    "metadata.max.age.ms",
    "client.rack",
    "isolation.level",
)
_LOGIN = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def java_client_options(settings: Settings) -> dict[str, str]:
    """Return the options of Spark's Kafka source and sink, each with Spark's prefix `kafka.`."""
    given = {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.kafka.items()
    }
    given["sasl.mechanism"] = given.pop("sasl.mechanisms", given.get("sasl.mechanism", ""))
    found = {key: given[key] for key in _SAME if given.get(key)} | _login(given) | _trust(given) | _identity(given)
    return {f"kafka.{key}": value for key, value in {"bootstrap.servers": settings.bootstrap, **found}.items()}


def _login(given: Mapping[str, str]) -> dict[str, str]:
    module = _LOGIN.get(given["sasl.mechanism"].upper())
    if module is None or "sasl.username" not in given:
        return {}
    user, password = (_quoted(given.get(key, "")) for key in ("sasl.username", "sasl.password"))
    return {"sasl.jaas.config": f"{module} required username={user} password={password};"}


def _trust(given: Mapping[str, str]) -> dict[str, str]:
    if "ssl.ca.pem" in given:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": given["ssl.ca.pem"]}
    if "ssl.ca.location" not in given:
        return {}
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(Path(given["ssl.ca.location"]).absolute())}


def _identity(given: Mapping[str, str]) -> dict[str, str]:
    """Return the client certificate: librdkafka accepts two files or texts, the Java client only the texts."""
    certificate, key = (_pem(given, name) for name in ("ssl.certificate", "ssl.key"))
    if not certificate or not key:
        return {}
    password = {"ssl.key.password": given["ssl.key.password"]} if "ssl.key.password" in given else {}
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": certificate,
        "ssl.keystore.key": key,
        **password,
    }


def _pem(given: Mapping[str, str], name: str) -> str:
    if f"{name}.pem" in given:
        return given[f"{name}.pem"]
    return Path(given[f"{name}.location"]).read_text(encoding="ascii") if f"{name}.location" in given else ""


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
