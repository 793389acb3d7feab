from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import TakenOver
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import PartitionId, nested
from penstock.spark.files import LocalFiles
from penstock.spark.lake.ledger import Entry, Ledger, Move
from penstock.spark.queries.position import Position, distance, flat
from penstock.spark.queries.state import QueryState

TOPIC = TopicName("events")


def position(*offsets: int) -> Position:
    places = {PartitionId(TOPIC, Partition(index)): Offset(offset) for index, offset in enumerate(offsets)}
    return Position(places, {TOPIC: "id"})


def test_a_position_survives_as_data() -> None:
    assert Position.from_data(position(3, 4).as_data()) == position(3, 4)


def test_offsets_are_written_as_spark_writes_them() -> None:
    offsets = position(3, 4).offsets
    assert nested(offsets) == {"events": {"0": 3, "1": 4}}
    assert flat(nested(offsets)) == offsets


def test_the_distance_counts_new_partitions_from_zero() -> None:
    assert distance(position(3).offsets, position(5, 4).offsets) == 6


def test_the_position_that_was_saved_last_is_claimed(tmp_path: Path) -> None:
    first = QueryState(LocalFiles(), str(tmp_path))
    assert first.claim() is None
    first.save(position(1))
    first.save(position(2))
    assert QueryState(LocalFiles(), str(tmp_path)).claim() == position(2)


def test_a_second_driver_takes_the_query_over(tmp_path: Path) -> None:
    first, second = QueryState(LocalFiles(), str(tmp_path)), QueryState(LocalFiles(), str(tmp_path))
    first.claim()
    first.save(position(1))
    assert second.claim() == position(1)
    with pytest.raises(TakenOver):
        first.save(position(2))
    second.save(position(3))
    assert QueryState(LocalFiles(), str(tmp_path)).claim() == position(3)


def test_the_last_entry_of_a_ledger_is_found(tmp_path: Path) -> None:
    ledger = Ledger(LocalFiles(), str(tmp_path))
    assert ledger.last() is None
    entries = [Entry(number, "me", position(number), (Move("from", "to"),)) for number in (9, 10, 11)]
    for entry in entries:
        ledger.add(entry)
    assert ledger.last() == entries[-1]


def test_a_finished_entry_has_nothing_left_to_move(tmp_path: Path) -> None:
    ledger = Ledger(LocalFiles(), str(tmp_path))
    entry = Entry(1, "me", position(5), (Move("from", "to"),))
    ledger.add(entry)
    ledger.finish(entry)
    assert ledger.last() == Entry(1, "me", position(5))


def test_a_ledger_forgets_what_was_long_ago(tmp_path: Path) -> None:
    ledger = Ledger(LocalFiles(), str(tmp_path))
    for number in range(50):
        assert ledger.add(Entry(number, "me", position(number)))
    assert len(list(tmp_path.iterdir())) == 20
    assert ledger.last() == Entry(49, "me", position(49))


def test_a_number_is_taken_once(tmp_path: Path) -> None:
    ledger = Ledger(LocalFiles(), str(tmp_path))
    assert ledger.add(Entry(1, "me", position(5)))
    assert not ledger.add(Entry(1, "another", position(5)))
    assert ledger.last() == Entry(1, "me", position(5))


def test_an_entry_that_is_there_because_we_asked_twice_is_ours(tmp_path: Path) -> None:
    ledger = Ledger(LocalFiles(), str(tmp_path))
    assert ledger.add(Entry(1, "me", position(5)))
    assert ledger.add(Entry(1, "me", position(5)))


def test_a_number_that_was_forgotten_cannot_be_taken_again(tmp_path: Path) -> None:
    ledger = Ledger(LocalFiles(), str(tmp_path))
    for number in range(50):
        ledger.add(Entry(number, "me", position(number)))
    assert not ledger.add(Entry(3, "a driver that slept", position(3)))
    assert ledger.last() == Entry(49, "me", position(49))
