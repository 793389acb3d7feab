from __future__ import annotations

import base64
import hashlib
import hmac
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from penstock.config import load_settings
from penstock.errors import JarRefused, JarUnavailable
from penstock.local.ivy import Source
from penstock.local.jars import JarCache
from penstock.local.parts import s3
from penstock.local.ports import free_port_settings
from penstock.local.stack import Stack, StackOptions
from penstock.local.state import STATE_FILE, read_state

Penstock = Callable[..., subprocess.CompletedProcess[str]]
PATIENCE = 100


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One project's directory, with its own ports in its settings file."""
    directory = tmp_path_factory.mktemp("project")
    lines = [f"  {name}: {port}\n" for name, port in free_port_settings()]
    (directory / "penstock.yaml").write_text("ports:\n" + "".join(lines), encoding="utf-8")
    return directory


@pytest.fixture
def penstock(home: Path) -> Iterator[Penstock]:
    """The real command in the project's directory; what a test leaves running is stopped."""

    def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command(*words), cwd=home, capture_output=True, text=True, check=False, **options)

    yield run
    run("down")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "penstock", *words]


def processes_of(data: Path) -> list[psutil.Process]:
    """Every process of the stack, and every child of those."""
    state = read_state(data)
    found = [part.process.process() for part in state.parts if part.process] if state else []
    return [each for root in found if root for each in (root, *root.children(recursive=True))]


def port_of(home: Path, name: str) -> int:
    lines = dict(line.strip().split(": ") for line in (home / "penstock.yaml").read_text().splitlines()[1:])
    return int(lines[name])


def test_a_detached_stack_is_shown_by_status_keeps_its_data_over_a_restart_and_is_gone_after_down(
    home: Path, penstock: Penstock
) -> None:
    up = penstock("up", "--detach")
    assert up.returncode == 0, up.stderr
    assert f"export PENSTOCK_BOOTSTRAP=localhost:{port_of(home, 'kafka')}" in up.stdout

    shown = json.loads(penstock("status", "--json").stdout)
    assert shown["state"] == "running"
    assert {part["name"]: part["state"] for part in shown["parts"]} == dict.fromkeys(
        ("kafka", "postgres", "apicurio", "registry"), "ready"
    )
    assert all(part["memory"] > 0 for part in shown["parts"])
    assert penstock("up", "--detach").stderr.count("local.already_running") == 1

    registry = shown["addresses"]["registry"]
    assert httpx.get(f"{registry}/config").json() == {"compatibilityLevel": "BACKWARD"}
    httpx.post(f"{registry}/subjects/kept-value/versions", json={"schema": '"string"'}).raise_for_status()
    httpx.put(f"{registry}/config", json={"compatibility": "FULL"}).raise_for_status()

    ours = processes_of(home / ".penstock")
    assert len(ours) > 4
    assert penstock("down").returncode == 0
    assert [each for each in ours if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
    assert penstock("status").returncode == 1

    assert penstock("up", "--detach").returncode == 0
    assert httpx.get(f"{registry}/subjects/kept-value/versions").json() == [1]
    assert httpx.get(f"{registry}/config").json() == {"compatibilityLevel": "FULL"}


def test_nothing_survives_a_killed_parent_and_the_next_start_tells_of_it(home: Path, penstock: Penstock) -> None:
    with (home / "up.out").open("wb") as output:
        parent = subprocess.Popen(command("up"), cwd=home, stdout=output, stderr=output)
    wait_until(lambda: b"ready after" in (home / "up.out").read_bytes() or parent.poll() is not None)
    ours = processes_of(home / ".penstock")
    assert len(ours) > 4, (home / "up.out").read_text()

    parent.send_signal(signal.SIGKILL)
    parent.wait()
    _gone, alive = psutil.wait_procs(ours, timeout=5)

    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []
    assert "did not stop by itself" in penstock("status").stderr
    told = penstock("up", "--detach", "--brokers", "3")
    assert f"the data in {home / '.penstock'} is of brokers 1, not 3" in told.stderr
    assert not (home / ".penstock" / STATE_FILE).exists()
    assert f"(pid {parent.pid}) did not stop by itself" in (home / ".penstock/logs/up.log").read_text()


def test_a_port_in_use_is_told_with_its_setting_and_nothing_starts(home: Path, penstock: Penstock) -> None:
    with socket.create_server(("127.0.0.1", port_of(home, "postgres"))):
        up = penstock("up")

    assert up.returncode == 1
    assert f"port {port_of(home, 'postgres')} (setting ports.postgres) for postgres is in use" in up.stderr
    assert processes_of(home / ".penstock") == []


def test_a_part_that_fails_to_start_ends_in_its_own_last_words_and_stops_the_rest(
    home: Path, penstock: Penstock
) -> None:
    up = penstock("up", "--set", "num.partitions=many")

    assert up.returncode == 1
    assert "local.part_failed" in up.stderr
    assert "Invalid value many for configuration num.partitions" in up.stderr
    assert str(home / ".penstock/logs/kafka") in up.stderr
    assert processes_of(home / ".penstock") == []


def test_a_setting_without_a_value_is_wrong_usage(penstock: Penstock) -> None:
    up = penstock("up", "--set", "num.partitions")

    assert up.returncode == 2
    assert "--set num.partitions: not KEY=VALUE" in up.stderr


def test_a_file_of_the_wrong_content_is_refused_by_name_and_is_not_kept(tmp_path: Path) -> None:
    place = tmp_path / "mirror/org/gaul/s3proxy/4.1.0"
    place.mkdir(parents=True)
    (place / "s3proxy-4.1.0-jar-with-dependencies.jar").write_bytes(b"not the jar that was locked")
    cache = JarCache(tmp_path / "cache", Source(mirror=(tmp_path / "mirror").as_uri()))

    with pytest.raises(JarRefused, match=r"org\.gaul:s3proxy:4\.1\.0:jar-with-dependencies@jar is not what"):
        cache.fetch(["s3"])

    assert list(tmp_path.glob("cache/**/*.jar")) == []


def test_a_file_that_the_mirror_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    cache = JarCache(tmp_path / "cache", Source(mirror=(tmp_path / "mirror").as_uri()))

    with pytest.raises(JarUnavailable, match=r"org\.gaul#s3proxy;4\.1\.0"):
        cache.fetch(["s3"])


def test_change_capture_and_the_object_store_start_and_answer(tmp_path: Path) -> None:
    chosen = load_settings(env={}, options={"data": str(tmp_path)}).settings
    own_ports = chosen.model_copy(update={"ports": free_port_settings()})
    with Stack(StackOptions(cdc=True, s3=True), own_ports) as stack:
        client = stack.settings()
        plugins = httpx.get(f"{client.connect}/connector-plugins", params={"connectorsOnly": "false"}).json()
        classes = {plugin["class"] for plugin in plugins}
        store = f"http://localhost:{client.ports.s3}"

        assert "io.debezium.connector.postgresql.PostgresConnector" in classes
        assert "io.apicurio.registry.utils.converter.AvroConverter" in classes
        assert httpx.put(f"{store}/lake").status_code == HTTPStatus.FORBIDDEN
        assert httpx.put(f"{store}/lake", headers=signed("PUT", "/lake")).status_code == HTTPStatus.OK
        with psycopg.connect(client.database.get_secret_value()) as database:
            assert database.execute("SHOW wal_level").fetchone() == ("logical",)
            assert database.execute("SELECT usesuper FROM pg_user WHERE usename = current_user").fetchone() == (False,)

        stack.kill("s3")
        assert [part.reason for part in stack.states() if part.name == "s3"] == ["ended by SIGKILL"]
        stack.restart("s3")
        assert httpx.head(f"{store}/lake", headers=signed("HEAD", "/lake")).status_code == HTTPStatus.OK


def signed(method: str, path: str) -> dict[str, str]:
    """S3's older signature, which fits in a line."""
    date = formatdate(usegmt=True)
    digest = hmac.new(s3.SECRET_KEY.encode(), f"{method}\n\n\n{date}\n{path}".encode(), hashlib.sha1).digest()
    return {"Date": date, "Authorization": f"AWS {s3.ACCESS_KEY}:{base64.b64encode(digest).decode()}"}


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
