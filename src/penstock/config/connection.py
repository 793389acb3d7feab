"""The `connection:` section of a pipeline: cluster and registry, with the keys of DataHub Actions' files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from penstock.config.secrets import PassThrough
from penstock.config.settings import Settings
from penstock.config.suggest import did_you_mean

_USER = "basic.auth.user.info"
_TOKEN = "bearer.auth.token"  # noqa: S105 - the name of a setting
_FILES = {
    "ssl.ca.location": "registry_ca",
    "ssl.certificate.location": "registry_certificate",
    "ssl.key.location": "registry_key",
}
_KNOWN = (_USER, _TOKEN, *_FILES)


class Connection(BaseModel):
    """A cluster and its schema registry. Missing values come from the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    bootstrap: str | None = Field(None, min_length=1, description="Kafka's addresses")
    schema_registry_url: str | None = Field(None, min_length=1, description="the registry's URLs")
    consumer_config: PassThrough = Field(default_factory=PassThrough, description="any librdkafka setting")
    schema_registry_config: PassThrough = Field(default_factory=PassThrough, description=", ".join(_KNOWN))

    @field_validator("schema_registry_config")
    @classmethod
    def _known(cls, given: PassThrough) -> PassThrough:
        for name in given.keys() - set(_KNOWN):
            raise ValueError(f"{name} is not known; {did_you_mean(name, _KNOWN, ', '.join(_KNOWN))}")
        return given

    def settings(self, base: Settings) -> Settings:
        """Return `base` overridden by the values of this connection."""
        return base.model_copy(update=self._given(base))

    def _given(self, base: Settings) -> Mapping[str, Any]:
        addresses = {"bootstrap": self.bootstrap, "registry": self.schema_registry_url}
        return {
            **{name: value for name, value in addresses.items() if value is not None},
            "kafka": PassThrough({**base.kafka, **self.consumer_config}),
            **_registry_access(self.schema_registry_config),
        }


def _registry_access(given: PassThrough) -> dict[str, object]:
    user, _, password = str(given.get(_USER, "")).partition(":")
    access = {
        "registry_user": user or None,
        "registry_password": SecretStr(password) if user else None,
        "registry_token": SecretStr(str(given[_TOKEN])) if _TOKEN in given else None,
        **{setting: Path(str(given[name])) for name, setting in _FILES.items() if name in given},
    }
    return {name: value for name, value in access.items() if value is not None}
