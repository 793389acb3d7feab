"""Settings of a job's clients: the process's settings, overridden by the job's properties."""

from __future__ import annotations

from typing import Any

from penstock.catalog.jobs.kafka_properties import BOOTSTRAP, IGNORED, SECURITY, is_own_cluster, is_own_registry
from penstock.catalog.jobs.spec import JobSpec
from penstock.config import Settings
from penstock.config.secrets import PassThrough
from penstock.kafka.java_stores import without_java_stores

_REGISTRY_LOGIN = ("registry_user", "registry_password", "registry_token", "registry_certificate", "registry_key")


def job_settings(base: Settings, spec: JobSpec) -> Settings:
    """Return settings with the job's cluster, registry and Kafka client properties.

    Credentials of the process are sent only to the addresses in its own settings.
    """
    given = {key: value for key, value in spec.kafka.items() if key not in IGNORED}
    bootstrap = str(given.pop(BOOTSTRAP, base.bootstrap))
    # Inherit all security properties or none: a job must not send the process's password over a weaker protocol.
    keeps_security = is_own_cluster(bootstrap, base.bootstrap) and not given.keys() & SECURITY
    shared = base.kafka if keeps_security else {key: base.kafka[key] for key in base.kafka if not _is_security(key)}
    changes = {"bootstrap": bootstrap, "kafka": PassThrough({**shared, **without_java_stores(given)})}
    return base.model_copy(update={**changes, **_registry(base, spec)})


def _is_security(key: str) -> bool:
    return key in SECURITY or key.startswith(("sasl.", "ssl.", "security."))


def _registry(base: Settings, spec: JobSpec) -> dict[str, Any]:
    if spec.registry is None:
        return {}
    is_own = is_own_registry(spec.registry, base.registry)
    return {"registry": spec.registry, **({} if is_own else dict.fromkeys(_REGISTRY_LOGIN))}
