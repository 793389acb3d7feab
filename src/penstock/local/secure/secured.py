"""Security settings for the brokers and clients of a secured stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import yaml

from penstock.config import Settings
from penstock.kafka.acls import grant_rights
from penstock.kafka.admin import Admin
from penstock.local.files import write_private
from penstock.local.secure.certificates import Certificates, ensure_certificates
from penstock.local.secure.scram import MECHANISM, credential, login
from penstock.local.secure.users import (
    ADMIN,
    BROKER,
    GRANTS,
    SUPERUSERS,
    USERS,
    ensure_passwords,
    secrets_directory,
    settings_file,
)
from penstock.local.security import Security


@dataclass(frozen=True)
class _Keys:
    """Certificates, and passwords by user."""

    certificates: Certificates
    passwords: Mapping[str, str] = field(repr=False)

    def login(self, user: str) -> str:
        return login(user, self.passwords[user])

    @property
    def trust(self) -> dict[str, str]:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.certificates.authority)}


def secured(data: Path) -> Security:
    """Return security settings: TLS everywhere, SCRAM logins to brokers, certificates between brokers and controllers.

    Certificates and passwords are read from the data directory, or created there.
    """
    keys = _Keys(ensure_certificates(secrets_directory(data), BROKER), ensure_passwords(data))
    return Security(
        broker_settings=_broker_settings(keys),
        format_arguments=_format_arguments(keys),
        java_client=_java_client(keys),
        python_client=_python_client(keys, ADMIN),
        settle=partial(_settle, data, keys),
    )


def _broker_settings(keys: _Keys) -> dict[str, str]:
    return {
        "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keys.certificates.broker),
        **keys.trust,
        "listener.name.controller.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/,DEFAULT",
        "sasl.enabled.mechanisms": MECHANISM,
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        f"listener.name.client.{MECHANISM.lower()}.sasl.jaas.config": keys.login(BROKER),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join(f"User:{name}" for name in SUPERUSERS),
    }


def _format_arguments(keys: _Keys) -> tuple[str, ...]:
    """Return the users as arguments. Users must exist before the first login."""
    credentials = (credential(name, password) for name, password in keys.passwords.items())
    return tuple(word for user in credentials for word in ("--add-scram", user))


def _java_client(keys: _Keys) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": keys.login(ADMIN),
        **keys.trust,
    }


def _python_client(keys: _Keys, user: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.username": user,
        "sasl.password": keys.passwords[user],
        "ssl.ca.location": str(keys.certificates.authority),
    }


def _settle(data: Path, keys: _Keys, settings: Settings) -> None:
    """Write each user's settings file, and grant the users' rights."""
    for user in USERS:
        write_private(settings_file(data, user.name), _settings_text(keys, user.name, settings))
    with Admin(settings) as admin:
        grant_rights(admin, GRANTS)


def _settings_text(keys: _Keys, user: str, settings: Settings) -> str:
    content = {
        "bootstrap": settings.bootstrap,
        "registry": settings.registry,
        "connect": settings.connect,
        "database": settings.database.get_secret_value(),
        "kafka": _python_client(keys, user),
    }
    return yaml.safe_dump(content, sort_keys=False)
