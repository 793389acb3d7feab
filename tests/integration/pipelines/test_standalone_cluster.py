"""A standalone cluster of a master and two workers, from the PySpark wheel; pipelines run on it as they are."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import duckdb
import pyspark
import pytest
import yaml

from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.local.java import spark_java_home
from penstock.local.ports import free_ports
from tests.command_lines import watched_command_lines
from tests.integration.conftest import CreateTopic, Fill
from tests.pipeline_files import EVENT_SCHEMA, event, kafka_source

SPARK = Path(pyspark.__file__).parent
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SECRET = "".join(secrets.choice("abcdef") for _ in range(24))
CONF = {
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.extraJavaOptions": LIGHT,
    "spark.executorEnv.MY_PASSWORD": SECRET,
    "spark.ssl.keyPassword": SECRET,
    "spark.odd.value": SECRET,
    "spark.hadoop.my.token": SECRET,
    "spark.driver.extraJavaOptions": LIGHT,
}


def start(directory: Path, role: str, *words: str) -> subprocess.Popen[bytes]:
    java = str(spark_java_home(directory / "java"))
    light = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": LIGHT}
    environment = {**os.environ, **light, "SPARK_HOME": str(SPARK), "JAVA_HOME": java, "SPARK_LOCAL_IP": "127.0.0.1"}
    log: IO[bytes]
    with (directory / f"{role}-{len(list(directory.glob('*.log')))}.log").open("wb") as log:
        command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", *words]
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=directory)


def written(directory: Path, marker: str) -> list[Path]:
    """The logs of the cluster, and the files of its workers, that contain the marker."""
    of_workers = (file for worker in ("one", "two") for file in (directory / worker).rglob("*") if file.is_file())
    return [file for file in (*directory.glob("*.log"), *of_workers) if marker.encode() in file.read_bytes()]


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a master with two workers of one core each."""
    (port,) = free_ports(1)
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as undo:
        host = ("--host", "127.0.0.1", "--webui-port", "0")
        processes = [start(tmp_path, "master.Master", *host, "--port", str(port))]
        undo.callback(lambda: [ended(process) for process in processes])
        wait_for_line(tmp_path, "master.Master-0.log", "I have been elected leader")
        for name in ("one", "two"):
            size = ("--cores", "1", "--memory", "600m", "--work-dir", str(tmp_path / name))
            processes.append(start(tmp_path, "worker.Worker", *host, *size, url))
        for log in ("worker.Worker-1.log", "worker.Worker-2.log"):
            wait_for_line(tmp_path, log, "Successfully registered with master")
        yield url


def ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for_line(directory: Path, log: str, line: str, seconds: float = 120) -> None:
    give_up = time.monotonic() + seconds
    while line not in (directory / log).read_text():
        assert time.monotonic() < give_up, (directory / log).read_text()
        time.sleep(0.2)


@pytest.mark.timeout(600)
def test_a_pipeline_runs_on_both_workers(
    master: str, settings: Settings, tmp_path: Path, create_topic: CreateTopic, fill: Fill
) -> None:
    topic = create_topic(partitions=2)
    for partition in range(2):
        fill(topic, [event(2 * number + partition) for number in range(50)], partition=partition)
    pipeline = {
        "name": topic,
        "source": kafka_source(topic, format="json", schema=str(EVENT_SCHEMA)),
        "sinks": [{"type": "lake", "config": {"table": "events"}, "trigger": "available_now"}],
        "spark": {"master": master, "conf": CONF},
    }
    (tmp_path / "events.yaml").write_text(yaml.safe_dump(pipeline))
    command = [sys.executable, "-m", "penstock", "run", "events.yaml"]
    with watched_command_lines(SECRET) as shown:
        ran = subprocess.run(
            command,
            cwd=tmp_path,
            env={**client_environment(settings), "PENSTOCK_S3_SECRET_KEY": SECRET},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert not shown
    assert not written(tmp_path, SECRET), "in a log or a file of the workers"
    assert len(duckdb.read_parquet(f"{tmp_path}/lake/events/*.parquet")) == 100
    assert all(list((tmp_path / worker).glob("app-*/*")) for worker in ("one", "two"))
