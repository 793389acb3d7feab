"""`penstock topics` and `penstock brokers` as a person meets them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from penstock.config import Settings
from penstock.kafka.admin import Admin
from penstock.kafka.cluster import read_cluster


def test_a_topic_is_created_with_what_was_asked_for(run_command: Any, topic: str) -> None:
    words = ("--partitions", 3, "--retention", "36h", "--retention-bytes", "10GB", "--set", "cleanup.policy=compact")
    created = run_command("topics", "create", topic, *words)
    assert (created.code, created.out) == (0, f"created {topic}: 3 partitions, replication 1\n")
    shown = json.loads(run_command("topics", "describe", topic, "--json").out)
    own = {item["name"]: item["value"] for item in shown["settings"] if item["source"] == "topic"}
    assert own == {"retention.ms": "129600000", "retention.bytes": "10000000000", "cleanup.policy": "compact"}


def test_describe_shows_leader_replicas_offsets_count_and_size(run_command: Any, topic: str, fill: Any) -> None:
    run_command("topics", "create", topic, "--partitions", 2, "--retention", "7d")
    fill(topic, [b"x"] * 1234, partition=1)
    lines = run_command("topics", "describe", topic).lines
    assert lines[0].startswith(f"{topic}: 2 partitions, replication 1, 1,234 records, ")
    assert lines[0].endswith("on the leaders' disks")
    assert lines[1] == "partition leader replicas in sync first end records size"
    assert lines[3] == "0 1 1 1 0 0 0 0 B"
    assert lines[4].startswith("1 1 1 1 0 1,234 1,234 ")
    assert "retention.ms 604800000 (7d) topic" in lines


def test_describe_shows_defaults_only_on_demand(run_command: Any, topic: str) -> None:
    run_command("topics", "create", topic)
    assert "segment.bytes" not in run_command("topics", "describe", topic).out
    assert "segment.bytes" in run_command("topics", "describe", topic, "--all").out


def test_the_list_hides_kafkas_own_topics_unless_asked(run_command: Any, topic: str, fill: Any) -> None:
    run_command("topics", "create", topic, "--partitions", 2)
    run_command("topics", "create", "__hidden-" + topic)
    fill(topic, [b"x"] * 5)
    listed = run_command("topics", "list")
    assert f"{topic} 2 1 5 none" in listed.lines
    assert "__hidden" not in listed.out
    assert "__hidden-" + topic in {
        item["name"] for item in json.loads(run_command("topics", "list", "--all", "--json").out)
    }


def test_adding_partitions_warns_that_keys_move_and_wants_a_yes(run_command: Any, topic: str) -> None:
    run_command("topics", "create", topic, "--partitions", 3)
    asked = run_command("topics", "alter", topic, "--partitions", 4)
    assert asked.code == 2
    assert "keys will move: with 4 partitions instead of 3, 75% of the keys go to another one" in asked.out
    assert "add --yes" in asked.err
    done = run_command("topics", "alter", topic, "--partitions", 4, "--yes")
    assert (done.code, done.out.splitlines()[-1]) == (0, f"{topic} has 4 partitions")


def test_partitions_are_never_taken_away(run_command: Any, topic: str) -> None:
    run_command("topics", "create", topic, "--partitions", 3)
    refused = run_command("topics", "alter", topic, "--partitions", 2, "--yes")
    assert refused.code == 2
    assert "never taken away" in refused.err


def test_altered_settings_are_shown_before_and_after(run_command: Any, topic: str) -> None:
    run_command("topics", "create", topic, "--retention", "7d", "--set", "max.message.bytes=2000000")
    altered = run_command("topics", "alter", topic, "--retention", "1d", "--unset", "max.message.bytes")
    lines = altered.lines
    assert "retention.ms 604800000 (7d) 86400000 (1d) topic" in lines
    assert "max.message.bytes 2000000 (2 MB) 1048588 (1 MB) default" in lines


def test_altering_nothing_is_a_mistake(run_command: Any, topic: str) -> None:
    refused = run_command("topics", "alter", topic)
    assert refused.code == 2
    assert "nothing to change" in refused.err


def test_a_topic_is_deleted_only_after_a_yes(run_command: Any, topic: str) -> None:
    run_command("topics", "create", topic)
    assert run_command("topics", "delete", topic).code == 2
    assert run_command("topics", "describe", topic).code == 0
    assert run_command("topics", "delete", topic, "--yes").out == f"deleted {topic}\n"
    gone = run_command("topics", "describe", topic)
    assert gone.code == 1
    assert gone.err.startswith(f"error kafka.topic_not_found there is no topic '{topic}'")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--retention", "7x"), "'7x' is not a duration"),
        (("--retention-bytes", "much"), "'much' is not a size"),
        (("--set", "retention"), "--set retention: this is not NAME=VALUE"),
    ],
)
def test_an_option_that_cannot_be_read_is_named(
    run_command: Any, topic: str, option: tuple[str, str], words: str
) -> None:
    refused = run_command("topics", "create", topic, *option)
    assert refused.code == 2
    assert words in refused.err


def test_a_cluster_that_is_down_ends_a_command_with_a_hint(run_command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TIMEOUT", "2")
    refused = run_command("topics", "list", bootstrap="localhost:1")
    assert refused.code == 1
    assert "error kafka.unavailable" in refused.err
    assert "penstock up" in refused.err


def test_brokers_are_listed_with_what_they_keep(run_command: Any, topic: str) -> None:
    run_command("topics", "create", topic)
    listed = json.loads(run_command("brokers", "list", "--json").out)["brokers"]
    assert listed[0]["keeps"] >= 1
    assert listed[0]["directories"][0]["free"] > 0


def test_broker_settings_have_a_source_and_advice_where_production_differs(run_command: Any) -> None:
    lines = run_command("brokers", "settings").lines
    assert any(line.startswith("log.retention.hours 168 (7d) default") for line in lines)
    assert any(line.startswith("delete.topic.enable false, or give") for line in lines)
    assert any("static file" in line for line in lines)


def test_broker_settings_are_filtered_by_name(run_command: Any) -> None:
    found = json.loads(run_command("brokers", "settings", "log.retention", "--json").out)
    assert {"log.retention.ms", "log.retention.hours"} <= {item["name"] for item in found}
    assert all("log.retention" in item["name"] for item in found)
    assert run_command("brokers", "settings", "nonsense").code == 2


def test_a_plan_with_known_rates_explains_each_number(run_command: Any, topic: str) -> None:
    given = (
        "--target",
        "50MB/s",
        "--production-rate",
        "20MB/s",
        "--consumption-rate",
        "30MB/s",
        "--processing-ms",
        0.1,
    )
    lines = run_command("topics", "plan", topic, *given).lines
    assert lines[0] == f"{topic} needs 10 partitions"
    assert "p 20 MB/s One partition takes this in production, as you say." in lines
    assert any(
        line.startswith("c 10 MB/s One consumer gets through this: it reads 30 MB/s, but works") for line in lines
    )
    assert lines[-1] == f"penstock topics create {topic} --partitions 10 --replication 1"


def test_a_plan_for_a_topic_that_is_there_compares_with_what_it_has(run_command: Any, topic: str) -> None:
    run_command("topics", "create", topic, "--partitions", 3)
    given = ("--production-rate", "10MB/s", "--consumption-rate", "10MB/s", "--growth", 1)
    enough = run_command("topics", "plan", topic, "--target", "30MB/s", *given).out
    too_few = run_command("topics", "plan", topic, "--target", "60MB/s", *given).out
    assert f"{topic} has 3 partitions, which is enough" in enough
    assert f"{topic} has 3 partitions, 3 too few; to add them (50% of the keys move):" in too_few
    assert f"penstock topics alter {topic} --partitions 6" in too_few


def test_a_plan_beyond_the_cluster_says_so(run_command: Any, topic: str) -> None:
    given = ("--target", "50GB/s", "--production-rate", "10MB/s", "--consumption-rate", "10MB/s")
    planned = run_command("topics", "plan", topic, *given).out
    assert "too many for 1 broker" in planned
    assert "more partitions can mean more latency" in planned


def left_behind(settings: Settings) -> list[str]:
    with Admin(settings) as admin:
        return [topic for topic in read_cluster(admin).topics if topic.startswith("penstock-plan-")]


def test_a_plan_measures_this_cluster_and_leaves_nothing_behind(
    run_command: Any, topic: str, settings: Settings
) -> None:
    planned = run_command("topics", "plan", topic, "--target", "1MB/s", "--seconds", 0.5, "--json")
    found = json.loads(planned.out)
    assert found["production"] > 100_000
    assert found["consumption"] > 100_000
    assert found["command"].startswith(f"penstock topics create {topic} --partitions ")
    assert "sending to one partition for 0.5 s" in planned.err
    assert left_behind(settings) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_measurement_leaves_nothing_behind(
    topic: str, settings: Settings, number: signal.Signals
) -> None:
    words = ["--bootstrap", settings.bootstrap, "topics", "plan", topic, "--target", "1MB/s", "--seconds", "30"]
    with subprocess.Popen([sys.executable, "-m", "penstock", *words], stderr=subprocess.DEVNULL) as measuring:
        deadline = time.monotonic() + 30
        while not left_behind(settings) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert left_behind(settings)
        measuring.send_signal(number)
        assert measuring.wait(20) == 130
    assert left_behind(settings) == []
