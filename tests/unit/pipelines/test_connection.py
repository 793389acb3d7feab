from __future__ import annotations

import pytest
from pydantic import ValidationError

from penstock.config import PassThrough, Settings
from penstock.config.connection import Connection


def test_what_is_given_wins_over_the_settings() -> None:
    base = Settings(
        bootstrap="a:1", registry="http://a", kafka=PassThrough({"client.id": "x", "security.protocol": "ssl"})
    )
    given = Connection(bootstrap="b:2", consumer_config=PassThrough({"client.id": "y"}))
    found = given.settings(base)
    assert (found.bootstrap, found.registry) == ("b:2", "http://a")
    assert dict(found.kafka) == {"client.id": "y", "security.protocol": "ssl"}


def test_the_registrys_user_comes_as_confluents_clients_have_it() -> None:
    given = Connection(schema_registry_config=PassThrough({"basic.auth.user.info": "app:s3:cret"}))
    found = given.settings(Settings())
    assert found.registry_user == "app"
    assert found.registry_password is not None
    assert found.registry_password.get_secret_value() == "s3:cret"
    assert "s3:cret" not in repr(given)


def test_an_unknown_registry_setting_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"did you mean basic\.auth\.user\.info"):
        Connection(schema_registry_config=PassThrough({"basic.auth.user": "x"}))
