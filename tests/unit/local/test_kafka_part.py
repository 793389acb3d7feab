from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config import load_settings
from penstock.errors import UsageError
from penstock.local.parts import plan
from penstock.local.parts.kafka import cluster_id, server_properties
from penstock.local.site import Site, StackOptions, survey


def site(data: Path, options: StackOptions) -> Site:
    return survey(options, load_settings(env={}, options={"data": str(data), "cache": str(data)}).settings)


def test_one_broker_keeps_one_copy_of_everything(tmp_path: Path) -> None:
    properties = server_properties(site(tmp_path, StackOptions()), 1, tmp_path)

    assert properties["default.replication.factor"] == "1"
    assert properties["offsets.topic.replication.factor"] == "1"
    assert properties["min.insync.replicas"] == "1"


def test_three_brokers_vote_together_and_keep_three_copies_of_which_two_are_enough(tmp_path: Path) -> None:
    place = site(tmp_path, StackOptions(brokers=3))

    each = [server_properties(place, node, tmp_path) for node in (1, 2, 3)]

    assert len({properties["controller.quorum.voters"] for properties in each}) == 1
    assert len({properties["listeners"] for properties in each}) == 3
    assert {properties["transaction.state.log.min.isr"] for properties in each} == {"2"}
    assert {properties["default.replication.factor"] for properties in each} == {"3"}


def test_everything_listens_on_localhost_only(tmp_path: Path) -> None:
    listeners = server_properties(site(tmp_path, StackOptions()), 1, tmp_path)["listeners"].split(",")

    assert all("://localhost:" in listener for listener in listeners)


def test_the_user_s_settings_come_last(tmp_path: Path) -> None:
    given = {"num.partitions": "3", "min.insync.replicas": "1"}

    properties = server_properties(site(tmp_path, StackOptions(brokers=3, broker_settings=given)), 1, tmp_path)

    assert given.items() <= properties.items()


def test_a_setting_that_makes_the_cluster_cannot_be_given(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="listeners is set by the stack itself"):
        plan(site(tmp_path, StackOptions(broker_settings={"listeners": "PLAINTEXT://0.0.0.0:9092"})))


def test_the_cluster_keeps_its_id(tmp_path: Path) -> None:
    first = cluster_id(tmp_path)

    assert len(first) == 22
    assert cluster_id(tmp_path) == first


def test_a_part_stands_after_those_it_needs(tmp_path: Path) -> None:
    names: list[str] = []
    for part in plan(site(tmp_path, StackOptions(brokers=3, cdc=True, s3=True))):
        assert set(part.needs) <= set(names)
        names.append(part.name)

    assert names == ["kafka-1", "kafka-2", "kafka-3", "postgres", "apicurio", "registry", "connect", "s3"]


def test_change_capture_and_the_object_store_start_only_when_asked_for(tmp_path: Path) -> None:
    names = [part.name for part in plan(site(tmp_path, StackOptions()))]

    assert names == ["kafka", "postgres", "apicurio", "registry"]
