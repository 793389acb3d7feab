"""A secured cluster by settings alone: who may do what, and what a refusal says."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from penstock import Consumer, Producer
from penstock.config import PassThrough, Settings
from penstock.errors import AuthenticationFailed, KafkaRefused, NotAuthorized, Undelivered
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_layouts
from penstock.kafka.topics import create_topic
from penstock.local.secure.certificates import ensure_certificates
from penstock.local.secure.users import ensure_passwords
from penstock.local.stack import Stack, StackOptions

Users = Callable[[str], Settings]

SCHEMA = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
WRONG = "not-the-password"


@pytest.fixture
def app_topic(secured: Users, topic: str) -> str:
    name = f"app.{topic}"
    with Admin(secured("admin")) as admin:
        create_topic(admin, name)
    return name


def directory(settings: Settings) -> Path:
    return Path(settings.kafka["ssl.ca.location"]).parent


def with_kafka(settings: Settings, **options: str) -> Settings:
    dotted = {name.replace("_", "."): value for name, value in options.items()}
    return settings.model_copy(update={"kafka": PassThrough({**settings.kafka, **dotted})})


def send(topic: str, settings: Settings) -> None:
    with Producer(topic, schema=SCHEMA, settings=settings) as producer:
        producer.send_sync({"id": 1})


def read(topic: str, group: str | None, settings: Settings) -> list[object]:
    with Consumer(topic, group, timeout=2, settings=settings) as consumer:
        return [record.value for record in consumer]


def penstock(settings_file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    env = {**others, "PENSTOCK_SETTINGS": str(settings_file)}
    command = [sys.executable, "-m", "penstock", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_the_app_writes_and_reads_its_own_topics(secured: Users, app_topic: str) -> None:
    send(app_topic, secured("app"))
    assert read(app_topic, f"{app_topic}-group", secured("app")) == [{"id": 1}]


def test_the_reader_reads_with_and_without_a_group(secured: Users, app_topic: str) -> None:
    send(app_topic, secured("app"))
    assert read(app_topic, None, secured("reader")) == [{"id": 1}]
    assert read(app_topic, f"reader.{app_topic}", secured("reader")) == [{"id": 1}]


def test_a_reader_who_writes_is_told_of_the_right_and_the_topic(secured: Users, app_topic: str) -> None:
    with pytest.raises(NotAuthorized, match=f"user 'reader' lacks WRITE on topic '{app_topic}'"):
        send(app_topic, secured("reader"))


def test_a_reader_who_writes_and_does_not_wait_is_told_at_the_end(secured: Users, app_topic: str) -> None:
    with (
        pytest.raises(Undelivered, match=f"lacks WRITE on topic '{app_topic}'") as report,
        Producer(app_topic, schema=SCHEMA, settings=secured("reader"), idempotent=False) as producer,
    ):
        producer.send({"id": 7})
    assert [record.value for record in report.value.records] == [{"id": 7}]


def test_a_group_of_others_is_refused_by_name(secured: Users, app_topic: str) -> None:
    with pytest.raises(NotAuthorized, match=r"user 'reader' lacks READ on group 'app\.others'"):
        read(app_topic, "app.others", secured("reader"))


def test_a_topic_of_others_is_refused_by_name(secured: Users, topic: str) -> None:
    with pytest.raises(NotAuthorized, match=f"user 'app' lacks .* on topic '{topic}'"):
        read(topic, "app.group", secured("app"))


@pytest.mark.parametrize("use", [send, lambda topic, settings: read(topic, "app.group", settings)])
def test_a_wrong_password_is_told_in_time_and_not_repeated(
    secured: Users, app_topic: str, use: Callable[[str, Settings], object]
) -> None:
    wrong = with_kafka(secured("app"), sasl_password=WRONG)
    began = time.monotonic()
    with pytest.raises(AuthenticationFailed) as refused:
        use(app_topic, wrong)
    assert time.monotonic() - began < wrong.timeout
    assert WRONG not in f"{refused.value!r} {refused.value.hint} {refused.value.details} {wrong!r}"


@pytest.mark.parametrize("use", [send, lambda topic, settings: read(topic, "app.group", settings)])
def test_an_unencrypted_client_is_told_to_look_at_its_protocol(
    secured: Users, app_topic: str, use: Callable[[str, Settings], object]
) -> None:
    with pytest.raises(KafkaRefused) as refused:
        use(app_topic, with_kafka(secured("app"), security_protocol="PLAINTEXT"))
    assert "security.protocol" in refused.value.hint


def test_a_certificate_of_an_unknown_authority_is_not_trusted(secured: Users, app_topic: str, tmp_path: Path) -> None:
    other = ensure_certificates(tmp_path, "broker").authority
    with pytest.raises(AuthenticationFailed, match="certificate"):
        send(app_topic, with_kafka(secured("app"), ssl_ca_location=str(other)))


def test_commands_work_by_a_settings_file_alone(secured: Users, app_topic: str) -> None:
    files = directory(secured("app"))
    assert app_topic in penstock(files / "app.yaml", "topics", "list").stdout
    refused = penstock(files / "app.yaml", "topics", "create", "others")
    assert refused.returncode == 1
    assert "user 'app' lacks CREATE on topic 'others'" in refused.stderr


def test_no_password_is_in_a_log(secured: Users) -> None:
    data = directory(secured("app")).parent
    passwords = [password.encode() for password in ensure_passwords(data).values()]
    logs = {log.name: log.read_bytes() for log in (data / "logs").iterdir()}
    assert "kafka.log" in logs
    assert not [name for name, content in logs.items() for password in passwords if password in content]


@pytest.mark.timeout(300)
def test_three_secured_brokers_copy_partitions_and_connect_joins_them(stack_settings: Settings, topic: str) -> None:
    with Stack(StackOptions(brokers=3, secure=True, cdc=True), stack_settings) as stack:
        with Admin(stack.settings()) as admin:
            create_topic(admin, topic)
            assert [len(layout.in_sync) for layout in read_layouts(admin, topic)] == [3]
        send(topic, stack.settings())
        assert httpx.get(f"{stack.settings().connect}/connectors").json() == []


def test_no_other_user_of_the_machine_reads_data_or_logs(secured: Users, app_topic: str) -> None:
    send(app_topic, secured("app"))
    data = directory(secured("app")).parent
    segments = list((data / "kafka").glob(f"**/{app_topic}-0/*.log"))
    assert segments
    for path in (data, data / "logs", *segments):
        assert path.stat().st_mode & 0o077 == 0, path
