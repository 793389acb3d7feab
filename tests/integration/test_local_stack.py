from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.config import load_settings
from penstock.errors import JarRefused, JarUnavailable
from penstock.local.ivy import Source
from penstock.local.jars import JarCache
from penstock.local.parts import s3
from penstock.local.ports import free_port_settings
from penstock.local.stack import Stack, StackOptions
from penstock.local.state import STATE_FILE, read_state
from tests.conftest import Running, local_settings

PATIENCE = 100


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One project's directory, with its own ports in its settings file."""
    directory = tmp_path_factory.mktemp("project")
    lines = [f"  {name}: {port}\n" for name, port in free_port_settings()]
    (directory / "penstock.yaml").write_text("ports:\n" + "".join(lines), encoding="utf-8")
    return directory


def penstock(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the real command in a project's directory."""
    return subprocess.run(command(*words), cwd=home, capture_output=True, text=True, check=False)


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "penstock", *words]


def processes_of(home: Path) -> list[psutil.Process]:
    """Every process of the project's stack, and every child of those."""
    state = read_state(home / ".penstock")
    found = [part.process.process() for part in state.parts if part.process] if state else []
    return [each for root in found if root for each in (root, *root.children(recursive=True))]


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    _gone, left = psutil.wait_procs(processes, timeout=5)
    return [each for each in left if each.status() != psutil.STATUS_ZOMBIE]


def port_of(home: Path, name: str) -> int:
    lines = dict(line.strip().split(": ") for line in (home / "penstock.yaml").read_text().splitlines()[1:])
    return int(lines[name])


@dataclass(frozen=True)
class Detached:
    """What was seen of a stack that was started with `--detach` and stopped with `down`."""

    up: subprocess.CompletedProcess[str]
    status: dict[str, Any]
    config: dict[str, str]
    second_up: subprocess.CompletedProcess[str]
    processes: int
    down: subprocess.CompletedProcess[str]
    survivors: list[psutil.Process]


@pytest.fixture(scope="module")
def detached(home: Path) -> Detached:
    """Start in the background, look, register a schema, change the default compatibility, stop."""
    up = penstock(home, "up", "--detach")
    try:
        status = json.loads(penstock(home, "status", "--json").stdout)
        with httpx.Client(base_url=status["addresses"]["registry"], timeout=30) as registry:
            config = registry.get("/config").json()
            registry.post("/subjects/kept-value/versions", json={"schema": '"string"'}).raise_for_status()
            registry.put("/config", json={"compatibility": "NONE"}).raise_for_status()
        second_up = penstock(home, "up", "--detach")
        processes = processes_of(home)
    finally:
        down = penstock(home, "down")
    return Detached(up, status, config, second_up, len(processes), down, alive(processes))


@dataclass(frozen=True)
class Killed:
    """What was seen of a stack in the foreground, on the same data, whose parent was killed."""

    pid: int
    versions: list[int]
    config: dict[str, str]
    processes: int
    survivors: list[psutil.Process]


@pytest.fixture(scope="module")
def killed(home: Path, detached: Detached) -> Killed:
    """Start in the foreground on the data of the first stack, look, and kill the parent with -9."""
    output = home / "up.out"
    with output.open("wb") as lines:
        parent = subprocess.Popen(command("up"), cwd=home, stdout=lines, stderr=lines)
    try:
        wait_until(lambda: b"ready after" in output.read_bytes() or parent.poll() is not None)
        with httpx.Client(base_url=detached.status["addresses"]["registry"], timeout=30) as registry:
            versions = registry.get("/subjects/kept-value/versions").json()
            config = registry.get("/config").json()
        processes = processes_of(home)
    finally:
        parent.kill()
        parent.wait()
    return Killed(parent.pid, versions, config, len(processes), alive(processes))


def test_a_detached_stack_says_how_to_find_it(home: Path, detached: Detached) -> None:
    assert detached.up.returncode == 0, detached.up.stderr
    assert f"export PENSTOCK_BOOTSTRAP=localhost:{port_of(home, 'kafka')}" in detached.up.stdout


def test_status_shows_every_part_with_its_state_and_memory(detached: Detached) -> None:
    parts = detached.status["parts"]

    assert detached.status["state"] == "running"
    assert {part["name"]: part["state"] for part in parts} == dict.fromkeys(
        ("kafka", "postgres", "apicurio", "registry"), "ready"
    )
    assert all(part["memory"] > 0 for part in parts)


def test_a_new_registry_checks_backward_compatibility(detached: Detached) -> None:
    assert detached.config == {"compatibilityLevel": "BACKWARD"}


def test_a_second_stack_on_the_same_data_is_refused(detached: Detached) -> None:
    assert detached.second_up.returncode == 1
    assert "local.already_running" in detached.second_up.stderr


def test_no_process_survives_down(home: Path, detached: Detached) -> None:
    assert detached.down.returncode == 0
    assert detached.processes > 4
    assert detached.survivors == []
    assert penstock(home, "status").returncode == 1


def test_schemas_and_the_chosen_compatibility_are_there_after_a_restart(killed: Killed) -> None:
    assert killed.versions == [1]
    assert killed.config == {"compatibilityLevel": "NONE"}


def test_no_process_survives_a_parent_that_is_killed(killed: Killed) -> None:
    assert killed.processes > 4
    assert killed.survivors == []


def test_a_stack_that_was_killed_is_recognised_told_of_and_cleared_away(home: Path, killed: Killed) -> None:
    assert f"(pid {killed.pid}) did not stop by itself" in penstock(home, "status").stderr

    up = penstock(home, "up", "--brokers", "3")

    assert f"(pid {killed.pid}) did not stop by itself" in up.stdout
    assert not (home / ".penstock" / STATE_FILE).exists()


def test_data_of_another_number_of_brokers_is_refused(home: Path, detached: Detached) -> None:
    assert detached.down.returncode == 0

    up = penstock(home, "up", "--brokers", "3")

    assert up.returncode == 1
    assert f"the data in {home / '.penstock'} is of brokers 1, not 3" in up.stderr


def test_a_port_in_use_is_told_with_its_setting_and_nothing_starts(home: Path) -> None:
    with socket.create_server(("127.0.0.1", port_of(home, "postgres"))):
        up = penstock(home, "up")

    assert up.returncode == 1
    assert f"port {port_of(home, 'postgres')} (setting ports.postgres) for postgres is in use" in up.stderr
    assert processes_of(home) == []


def test_a_part_that_fails_to_start_ends_in_its_own_last_words_and_stops_the_rest(home: Path) -> None:
    up = penstock(home, "up", "--set", "num.partitions=many")

    assert up.returncode == 1
    assert "local.part_failed" in up.stderr
    assert "Invalid value many for configuration num.partitions" in up.stderr
    assert str(home / ".penstock/logs/kafka") in up.stderr
    assert processes_of(home) == []


def test_a_setting_without_a_value_is_wrong_usage(home: Path) -> None:
    up = penstock(home, "up", "--set", "num.partitions")

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
        assert httpx.put(f"{store}/more").status_code == HTTPStatus.FORBIDDEN
        assert httpx.put(f"{store}/more", headers=signed("PUT", "/more")).status_code == HTTPStatus.OK
        with psycopg.connect(client.database.get_secret_value()) as database:
            assert database.execute("SHOW wal_level").fetchone() == ("logical",)
            assert database.execute("SELECT usesuper FROM pg_user WHERE usename = current_user").fetchone() == (False,)

        stack.kill("s3")
        assert [part.reason for part in stack.states() if part.name == "s3"] == ["ended by SIGKILL"]
        stack.restart("s3")
        assert httpx.head(f"{store}/lake", headers=signed("HEAD", "/lake")).status_code == HTTPStatus.OK


def test_a_killed_database_starts_again_once_what_is_left_of_it_has_ended(tmp_path: Path) -> None:
    chosen = load_settings(env={}, options={"data": str(tmp_path)}).settings
    with Stack(StackOptions(), chosen.model_copy(update={"ports": free_port_settings()})) as stack:
        url = stack.settings().database.get_secret_value()
        with psycopg.connect(url) as database:
            left = psutil.Process(database.info.backend_pid)
            left.suspend()
            stack.kill("postgres")
            threading.Timer(2, left.resume).start()
            stack.restart("postgres")
        with psycopg.connect(url) as database:
            assert database.execute("SELECT 1").fetchone() == (1,)


def test_only_who_reads_the_password_file_gets_into_the_database(stack: Running) -> None:
    url = stack.settings.database.get_secret_value()
    port = stack.settings.ports.postgres
    file = Path(str(conninfo_to_dict(url)["passfile"]))
    assert file.stat().st_mode & 0o777 == 0o600
    password = file.read_text().split()[0].rpartition(":")[2]
    assert password not in url
    with psycopg.connect(url) as connection:
        assert connection.info.password == password
    for user, given in (("penstock", ""), ("penstock", "penstock"), ("postgres", ""), ("postgres", password)):
        for database in ("penstock", "registry", "dbname=penstock replication=database"):
            address = {"host": "localhost", "port": port, "user": user, "password": given, "passfile": "/dev/null"}
            with pytest.raises(psycopg.OperationalError, match=r"no password supplied|authentication failed"):
                psycopg.connect(make_conninfo("" if "=" in database else f"dbname={database}", **address))


def test_data_of_before_that_trusted_every_local_user_is_closed_at_the_next_start(tmp_path: Path) -> None:
    chosen = local_settings(tmp_path / "data")
    with Stack(StackOptions(), chosen) as stack:
        url = stack.settings().database.get_secret_value()
        home = tmp_path / "data" / "postgres"
        (home / "pg_hba.conf").write_text("host all all 127.0.0.1/32 trust\n")
        (tmp_path / "data").chmod(0o755)
    with Stack(StackOptions(), chosen):
        assert "trust" not in (home / "pg_hba.conf").read_text()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


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
