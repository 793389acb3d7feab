"""Kafka properties from the environment, as in DataHub: `KAFKA_PROPERTIES_SSL_CIPHER_SUITES` and so on."""

from __future__ import annotations

from collections.abc import Mapping

_PREFIX = "KAFKA_PROPERTIES_"
_SWITCH = "DATAHUB_ACTIONS_KAFKA_ENV_PROPERTIES_ENABLED"

_JAVA_PREFIXES = ("ssl.keystore", "ssl.truststore", "kafkastore.", "basic.auth.", "schema.registry.")
_JAVA_ONLY = frozenset(
    {
        *("sasl.jaas.config", "sasl.client.callback.handler.class", "sasl.login.class"),
        *("sasl.login.callback.handler.class", "ssl.protocol", "ssl.enabled.protocols"),
        *("partition.assignment.strategy", "group.id"),
    }
)
"""Properties of Java clients, left out here: DataHub's Helm charts pass them to Java services and actions alike."""


def consumer_properties(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the librdkafka properties in an environment, without empty values and properties of Java clients."""
    if environment.get(_SWITCH, "true").lower() == "false":
        return {}
    given = {_property(name): value for name, value in environment.items() if name.startswith(_PREFIX) and value}
    return {name: value for name, value in given.items() if not _is_javas(name)}


def _property(variable: str) -> str:
    name = variable.removeprefix(_PREFIX)
    return "oauth_cb" if name == "OAUTH_CB" else name.lower().replace("_", ".")


def _is_javas(name: str) -> bool:
    return name in _JAVA_ONLY or name.startswith(_JAVA_PREFIXES)
