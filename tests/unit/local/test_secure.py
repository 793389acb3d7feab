from __future__ import annotations

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from penstock.cli.secure_view import show_users
from penstock.errors import DataMismatch
from penstock.local.java import hidden_arguments
from penstock.local.secure import certificates as made
from penstock.local.secure import secured, settings_file
from penstock.local.secure.certificates import ensure_certificates
from penstock.local.secure.scram import credential
from penstock.local.secure.users import ensure_passwords


def certificate(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificates(file.read_bytes())[0]


def test_the_brokers_certificate_is_for_this_machine_and_signed_by_the_authority(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path, "broker")
    broker = certificate(files.broker)
    broker.verify_directly_issued_by(certificate(files.authority))
    names = broker.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    ssl.create_default_context().load_cert_chain(files.broker)


def test_certificates_are_found_again(tmp_path: Path) -> None:
    before = ensure_certificates(tmp_path, "broker").broker.read_bytes()
    assert ensure_certificates(tmp_path, "broker").broker.read_bytes() == before


def test_certificates_that_end_soon_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "_LIFE", timedelta(days=29))
    ensure_certificates(tmp_path, "broker")
    monkeypatch.undo()
    files = ensure_certificates(tmp_path, "broker")
    assert certificate(files.authority).not_valid_after_utc > datetime.now(UTC) + timedelta(days=30)
    certificate(files.broker).verify_directly_issued_by(certificate(files.authority))


def test_passwords_are_drawn_once_and_differ(tmp_path: Path) -> None:
    passwords = ensure_passwords(tmp_path)
    assert set(passwords) == {"broker", "admin", "app", "reader"}
    assert len(set(passwords.values())) == 4
    assert ensure_passwords(tmp_path) == passwords


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"admin": "x"}'])
def test_a_damaged_password_file_is_refused(tmp_path: Path, content: str) -> None:
    ensure_passwords(tmp_path)
    (tmp_path / "secure" / "passwords.json").write_text(content)
    with pytest.raises(DataMismatch, match=r"passwords\.json"):
        ensure_passwords(tmp_path)


def test_only_the_owner_can_read_what_is_made(tmp_path: Path) -> None:
    secured(tmp_path)
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "secure").iterdir()} == {0o600}


def test_no_password_is_in_the_text_of_the_security_or_in_the_formatting_arguments(tmp_path: Path) -> None:
    security = secured(tmp_path)
    shown = f"{security!r} {security.format_arguments}"
    assert not [password for password in ensure_passwords(tmp_path).values() if password in shown]


def test_a_credential_is_salted() -> None:
    assert credential("app", "hunter2") != credential("app", "hunter2")


def test_hidden_arguments_are_not_in_the_command_and_their_file_goes(tmp_path: Path) -> None:
    file = tmp_path / "arguments"
    with hidden_arguments(["java", "Main", 'a="b\\c"'], file) as command:
        assert command == ("java", f"@{file}")
        assert file.read_text() == '"Main"\n"a=\\"b\\\\c\\""\n'
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not file.exists()


def test_the_users_are_shown_with_their_files_and_without_passwords(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_users(tmp_path)
    shown = capsys.readouterr().out
    assert str(settings_file(tmp_path, "app")) in shown
    assert not [password for password in ensure_passwords(tmp_path).values() if password in shown]
