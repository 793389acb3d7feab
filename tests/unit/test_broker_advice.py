import pytest

from penstock.cli.brokers import agreeing
from penstock.cli.setting_cells import value_cell
from penstock.kafka.advice import advice
from penstock.kafka.cluster import BrokerId
from penstock.kafka.configs import Setting, Source


@pytest.mark.parametrize(
    ("name", "laptop", "production"),
    [
        ("auto.create.topics.enable", "true", "false"),
        ("delete.topic.enable", "true", "false"),
        ("default.replication.factor", "1", "3"),
        ("num.partitions", "1", "6"),
        ("min.insync.replicas", "1", "2"),
        ("unclean.leader.election.enable", "true", "false"),
        ("log.retention.bytes", "-1", "1000000000"),
    ],
)
def test_advice_is_given_only_where_production_differs(name: str, laptop: str, production: str) -> None:
    assert advice(name, laptop)
    assert not advice(name, production)


def test_retention_by_time_is_always_worth_a_word_if_it_is_set() -> None:
    assert "read or not" in advice("log.retention.hours", "168")
    assert not advice("log.retention.ms", None)


def test_other_settings_get_no_advice() -> None:
    assert not advice("log.dirs", "data")


def test_brokers_that_agree_share_a_line_and_others_get_their_own() -> None:
    three = Setting("num.partitions", "3", Source.FILE)
    one = Setting("num.partitions", "1", Source.DEFAULT)
    found = {BrokerId(1): [three], BrokerId(2): [one], BrokerId(3): [three]}
    assert [(row.setting, row.brokers) for row in agreeing(found)] == [(three, (1, 3)), (one, (2,))]


@pytest.mark.parametrize(
    ("name", "value", "cell"),
    [
        ("retention.ms", "604800000", "604800000 [dim](7d)[/]"),
        ("log.retention.hours", "168", "168 [dim](7d)[/]"),
        ("retention.bytes", "10000000000", "10000000000 [dim](10 GB)[/]"),
        ("retention.bytes", "-1", "-1 [dim](no limit)[/]"),
        ("min.insync.replicas", "2", "2"),
        ("log.retention.ms", None, "[dim]not set[/]"),
        ("sasl.jaas.config", "[odd]", r"\[odd]"),
    ],
)
def test_a_value_is_shown_with_what_it_means(name: str, value: str | None, cell: str) -> None:
    assert value_cell(name, value) == cell
