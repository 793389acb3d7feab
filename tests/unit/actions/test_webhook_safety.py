"""Where a webhook may connect to, and what its messages cannot become."""

from __future__ import annotations

import pytest

from penstock.actions.builtin.webhook_address import address_problem
from penstock.actions.builtin.webhook_payload import payload_of
from penstock.actions.expressions import scope_of
from tests.action_context import event
from tests.bounded import within


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "0.0.0.0",  # noqa: S104 - nothing is bound
        "224.0.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "::",
        "::169.254.169.254",
        "::ffff:169.254.169.254",
        "::ffff:0:169.254.169.254",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::169.254.169.254",
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1:a9:fe:a9fe::",
        "64:ff9b:1:0:a9:fea9:fe00:0",
        "2002:a9fe:a9fe::1",
        "2001:0:4136:e378:8000:63bf:5601:5601",
        "2001:db8::5efe:169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "ff02::1",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd00:42::42",
        "fd20:ce::254%eth0",
        "fd20:ce::254",
    ],
)
def test_an_address_of_secrets_is_refused_in_every_form(address: str) -> None:
    assert "no address for a webhook" in (address_problem(address) or "")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "93.184.216.34",
        "::1",
        "fd12::1",
        "fd00::1",
        "2606:2800::1",
        "64:ff9b::5db8:d822",
        "a.example",
    ],
)
def test_other_addresses_are_taken(address: str) -> None:
    assert address_problem(address) is None


def message(kind: str, value: str) -> str:
    payload = payload_of(kind, "see https://us.example/a.b {{ value }}", None)  # type: ignore[arg-type] # one of both
    assert payload
    made = payload(scope_of(event({"value": value})))
    text = made["text"] if kind == "slack" else made["attachments"][0]["content"]["body"][0]["text"]
    return str(text).removeprefix("see https://us.example/a.b ")


@pytest.mark.parametrize("kind", ["slack", "teams"])
@pytest.mark.parametrize(
    "value",
    [
        "http://evil.example/x",
        "HTTPS://evil.example",
        "x (https://evil.example)",
        "evil://host",
        "mailto:a@evil.example",
        "www.evil.example",
        "evil.example/login",
        "evil.example:8080",
        "https:",
        "éhttp://evil.example",
        "x_http://evil.example/x",
        "1http://evil.example",
        "_www.evil.example",
        "évil.example/x,http://evil.example",
        "//evil.example",
        "user@evil.example",
        "_evil.example/x",
        "evil.example./x",
    ],
)
def test_a_url_of_an_event_does_not_become_a_link(kind: str, value: str) -> None:
    shown = message(kind, value)
    for sign in ("://", "www.", "mailto:", "https:", "evil.example"):
        assert sign not in shown.lower()
    assert shown.replace("\u2060", "").replace("\\", "") == value


def test_an_ip_address_with_a_path_does_not_become_a_link() -> None:
    assert "1.2.3.4" not in message("slack", "1.2.3.4/x")


@pytest.mark.parametrize("kind", ["slack", "teams"])
@pytest.mark.parametrize("value", ["a." * 20_000, "www" * 20_000, "1." * 20_000, "a@" * 20_000, "\u3002a" * 20_000])
def test_a_long_value_takes_no_longer_than_a_message(kind: str, value: str) -> None:
    assert within(1, message, kind, value).endswith("…")


@pytest.mark.parametrize(
    "value", ["urn:li:dataset:(urn:li:dataPlatform:hive,db.table,PROD)", "12:30", "v1.2", "a:b", "metadata: 1"]
)
def test_names_and_times_stay_as_they_are(value: str) -> None:
    assert message("slack", value) == value
