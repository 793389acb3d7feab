"""`penstock run` as its users see it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import duckdb
import httpx
import pytest
import yaml
from pyspark.sql import SparkSession

from penstock.cli.own_stack import client_environment
from penstock.config import Settings
from penstock.kafka.topics import ensure_topic
from penstock.local.ports import free_ports
from penstock.pipelines import submit
from tests.conftest import RunCommand
from tests.integration.conftest import CreateTopic, Fill
from tests.pipeline_files import PipelineFiles, event, kafka_sink, kafka_source

EXAMPLE = Path(__file__).parents[3] / "examples" / "events"


@pytest.mark.timeout(600)
def test_the_example_runs_word_for_word_and_ends_on_sigterm(settings: Settings, tmp_path: Path, fill: Fill) -> None:
    copytree(EXAMPLE, tmp_path / "events")
    ensure_topic(settings, "events")
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "penstock", "run", "events/events.yaml", "--metrics-port", str(port)]
    fill("events", [event(number, Event_Type="Example") for number in range(10)])
    with (tmp_path / "log").open("w+") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=client_environment(settings), stdout=log, stderr=log)
        try:
            wait_until(lambda: landed(tmp_path) >= 10, process, tmp_path / "log")
            metrics = httpx.get(f"http://127.0.0.1:{port}/metrics").text
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
    said = (tmp_path / "log").read_text()
    assert 'penstock_query_up{pipeline="events",sink="lake-events"} 1.0' in metrics
    assert "events.kafka-events_avro running" in said
    assert said.endswith("ended; all progress is kept\n")


def landed(directory: Path) -> int:
    if not list(directory.glob("lake/events/Event_Type=Example/*/*.parquet")):
        return 0
    return len(duckdb.read_parquet(f"{directory}/lake/events/Event_Type=Example/*/*.parquet"))


def wait_until(done: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float = 500) -> None:
    give_up = time.monotonic() + seconds
    while not done():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < give_up, log.read_text()
        time.sleep(0.5)


@pytest.fixture
def good(files: PipelineFiles, create_topic: CreateTopic, fill: Fill) -> Path:
    """A pipeline over three records, of which the second is bad."""
    topic = create_topic()
    fill(topic, [b'{"n": 1}', b"bad", b'{"n": 2}'])
    source = kafka_source(topic, format="json", schema="n INT NOT NULL")
    return files.write(topic, source=source, sinks=[kafka_sink(f"{topic}-out", format="json")])


def test_a_pipeline_that_has_come_to_its_end_is_reported_line_by_line(run_command: RunCommand, good: Path) -> None:
    ran = run_command("run", good)
    assert ran.code == 0, ran.err
    assert "finished: read 3" in ran.err
    assert "refused 1" in ran.err


def test_a_failure_that_stays_ends_with_1_and_its_reason(run_command: RunCommand, good: Path) -> None:
    good.write_text(yaml.safe_dump({**yaml.safe_load(good.read_text()), "options": {"failure_mode": "THROW"}}))
    ran = run_command("run", good)
    assert ran.code == 1
    assert "stays down until it is mended" in ran.err
    assert "record.undecodable" in ran.err or "record.invalid" in ran.err


def test_check_says_that_nothing_is_wrong_and_starts_nothing(run_command: RunCommand, good: Path) -> None:
    ran = run_command("run", good, "--check")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "1 pipeline checked, nothing is wrong")
    assert not (good.parent / "lake").exists()


@pytest.mark.usefixtures("spark")
def test_check_tells_every_mistake_with_its_line(run_command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: bad\nsource: {type: kafka, config: {topic: t, format: jsn}}\nsink: []\n")
    ran = run_command("run", "bad.yaml", "--check")
    assert ran.code == 2
    assert "bad.yaml:2: source.config.format: there is no format jsn; did you mean json?" in ran.err
    assert "bad.yaml:3: sink is not a setting (did you mean sinks?)" in ran.err


def test_a_wrong_key_in_one_file_hides_no_mistake_of_another(
    run_command: RunCommand, files: PipelineFiles, tmp_path: Path, topic: str
) -> None:
    (tmp_path / "bad.yaml").write_text("name: bad\nsource: {type: kafka, config: {topic: t, format: jsn}}\nsinks: []\n")
    files.write("other", source=kafka_source(topic, format="raw"), sinks=[kafka_sink(f"{topic}-out", key="kee")])
    ran = run_command("run", tmp_path / "bad.yaml", tmp_path / "other.yaml", "--check")
    assert ran.code == 2
    assert "bad.yaml:2: source.config.format: there is no format jsn" in ran.err
    assert f"source.config.topic: there is no topic '{topic}'" in ran.err
    assert "sinks.0.config.key: there is no column kee" in ran.err


def test_what_is_wrong_in_a_file_is_told_though_the_cluster_is_away(
    run_command: RunCommand, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_TIMEOUT", "1")
    (tmp_path / "bad.yaml").write_text("name: bad\nsource: {type: kafka, config: {topic: t, format: jsn}}\nsinks: []\n")
    ran = run_command("run", tmp_path / "bad.yaml", good, "--check", bootstrap="localhost:1")
    assert "bad.yaml:2: source.config.format: there is no format jsn" in ran.err
    assert "kafka.unavailable" in ran.err


def test_options_of_actions_are_refused(run_command: RunCommand, good: Path) -> None:
    ran = run_command("run", good, "--dry-run")
    assert ran.code == 2
    assert "--dry-run, --max and --events is for actions" in ran.err


def test_the_line_for_a_cluster_has_jars_files_and_settings(run_command: RunCommand, good: Path) -> None:
    ran = run_command("run", good, "--print-submit", "yarn")
    assert ran.code == 0
    assert "spark-submit --master yarn --deploy-mode cluster" in ran.out
    assert "spark-sql-kafka-0-10_2.13" in ran.out
    assert "spark.yarn.appMasterEnv.PENSTOCK_BOOTSTRAP=" in ran.out
    assert f"pipelines/submit.py pipelines/{good.name}" in ran.out


def test_one_spark_serves_all(spark: SparkSession, run_command: RunCommand, good: Path) -> None:
    assert run_command("run", good).code == 0
    assert spark.range(1).count() == 1


@pytest.mark.usefixtures("spark")
def test_what_spark_submit_runs_takes_its_settings_from_the_environment(
    good: Path, files: PipelineFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", files.settings.bootstrap)
    monkeypatch.setenv("PENSTOCK_REGISTRY", files.settings.registry)
    monkeypatch.setenv("PENSTOCK_LAKE", str(files.lake))
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert submit.main([str(good)]) == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert [record.value for record in files.records(f"{good.stem}-out")] == [b'{"n":1}', b'{"n":2}']
