from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.kafka.load import Load, made_up_records, sample_records
from penstock.kafka.plan import Need, Rates, Surroundings, plan_partitions

MB = 1_000_000
NEED = Need(target=50 * MB, growth=1, replication=3, record_bytes=1000)
ALONE = Surroundings(brokers=3, other_copies=0)


def test_production_decides_where_it_is_slower() -> None:
    plan = plan_partitions(NEED, Rates(production=10 * MB, consumption=25 * MB), ALONE)
    assert (plan.for_production, plan.for_consumption, plan.partitions) == (5, 2, 5)


def test_consumption_decides_where_it_is_slower() -> None:
    plan = plan_partitions(NEED, Rates(production=25 * MB, consumption=10 * MB), ALONE)
    assert (plan.for_production, plan.for_consumption, plan.partitions) == (2, 5, 5)


def test_a_part_of_a_partition_is_a_whole_one() -> None:
    assert plan_partitions(NEED, Rates(49 * MB, 100 * MB), ALONE).partitions == 2
    assert plan_partitions(NEED, Rates(500 * MB, 500 * MB), ALONE).partitions == 1


def test_the_work_on_a_record_limits_what_a_consumer_gets_through() -> None:
    plan = plan_partitions(replace(NEED, processing_ms=0.2), Rates(50 * MB, 400 * MB), ALONE)
    assert plan.consumption == 5 * MB
    assert plan.partitions == 10


def test_quick_work_leaves_the_measured_reading_as_the_limit() -> None:
    plan = plan_partitions(replace(NEED, processing_ms=0.001), Rates(50 * MB, 25 * MB), ALONE)
    assert plan.consumption == 25 * MB


def test_growth_is_counted_before_rounding() -> None:
    plan = plan_partitions(replace(NEED, growth=2), Rates(40 * MB, 100 * MB), ALONE)
    assert plan.at_least == 2
    assert plan.partitions == 3


def test_the_limit_is_a_hundred_times_brokers_times_copies_on_each_broker() -> None:
    rates = Rates(production=50 * MB, consumption=50 * MB)
    within = plan_partitions(NEED, rates, Surroundings(brokers=3, other_copies=2697))
    beyond = plan_partitions(NEED, rates, Surroundings(brokers=3, other_copies=2698))
    assert (within.limit, within.on_each_broker, within.fits) == (900, 900, True)
    assert (beyond.on_each_broker, beyond.fits) == (901, False)


def test_more_copies_than_brokers_cannot_be_planned() -> None:
    with pytest.raises(UsageError, match="3 copies need as many brokers, and there are 2"):
        plan_partitions(NEED, Rates(MB, MB), Surroundings(brokers=2, other_copies=0))


@pytest.mark.parametrize("wrong", [{"target": 0}, {"growth": 0.5}, {"processing_ms": -1}])
def test_a_need_without_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="must be above 0"):
        plan_partitions(replace(NEED, **wrong), Rates(MB, MB), ALONE)


def test_a_partition_that_takes_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="takes nothing"):
        plan_partitions(NEED, Rates(0, MB), ALONE)


RATE = st.floats(min_value=1e3, max_value=1e10)


@given(target=RATE, growth=st.floats(1, 10), production=RATE, consumption=RATE)
def test_the_planned_partitions_carry_the_grown_target(
    target: float, growth: float, production: float, consumption: float
) -> None:
    plan = plan_partitions(replace(NEED, target=target, growth=growth), Rates(production, consumption), ALONE)
    assert plan.partitions * min(production, consumption) >= target * growth * (1 - 1e-9)
    assert plan.partitions >= plan.at_least


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
def test_made_up_records_have_the_size_asked_for(size: int) -> None:
    records = made_up_records(size)
    assert {len(record) for record in records} == {size}
    assert size < 100 or len(set(records)) == len(records)


def test_a_sample_is_the_lines_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "sample.jsonl"
    file.write_bytes(b'{"a": 1}\r\n\n{"a": 22}\n')
    records = sample_records(file)
    assert records == [b'{"a": 1}', b'{"a": 22}']
    assert Load(records, 1, "none", 1, 1).record_bytes == 8.5


def test_a_sample_that_is_empty_or_missing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(UsageError, match="has no lines"):
        sample_records(tmp_path / "empty")
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        sample_records(tmp_path / "missing")
