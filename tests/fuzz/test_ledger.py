"""Drivers of a Parquet table die at any file operation and overtake each other, while the table is compacted.

Batches grow and shrink between attempts, states are restored from older copies, and the topic is recreated. No reader
ever sees a row twice, and in the end every record of the topic is in the table once.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.errors import PenstockError, QueryInterrupted, TakenOver
from penstock.events.record import Offset, Partition, TopicName
from penstock.kafka.offsets import Offsets, PartitionId
from penstock.lake.compaction import parquet as compaction
from penstock.spark.files import LocalFiles
from penstock.spark.lake import parquet_sink
from penstock.spark.lake.parquet_sink import ParquetSink, Staged
from penstock.spark.lake.table import LakeTable
from penstock.spark.queries.position import NOWHERE, Position
from penstock.spark.queries.start_plan import ClusterNow, plan_start
from penstock.spark.queries.state import QueryState
from penstock.spark.sinks.sink import Batch
from tests.fuzz.budget import fuzz
from tests.fuzz.scheduling import Actor, ScheduledFiles

EVENTS = TopicName("events")
QUERY = "shop.lake"
PLACES = [PartitionId(EVENTS, Partition(number)) for number in range(3)]
FOLDERS = 2
Rows = list[int]


class PlainSink(ParquetSink):
    """The sink as it is, but for Spark: rows are numbers, and become one file in each folder."""

    def _note_columns(self, schema: object) -> None: ...

    def _stage(self, rows: Any, place: str, size: int) -> list[Staged]:  # noqa: ARG002 - as the sink calls it
        for folder in range(FOLDERS):
            ids = [number for number in rows.ids if number % FOLDERS == folder]
            if ids:
                self._files.write(f"{place}/kind={folder}/part-0.parquet", parquet_of(ids))
        return [Staged(found.path, found.path) for found in self._files.below(place)]


class PlainRows:
    """What a sink is given in the place of a DataFrame."""

    schema = None

    def __init__(self, ids: Rows) -> None:
        self.ids = ids


def parquet_of(ids: Rows) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": ids}), buffer)
    return buffer.getvalue()


class World:
    """A topic, the table that is filled from it, and the state of the query."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.table = LakeTable(str(directory / "lake"), "events")
        self.state = directory / "state"
        self.copies: list[bytes] = []
        self._random = random.Random(seed)  # noqa: S311 - any choice will do, as long as it can be repeated
        self._sent = 0
        self._topic_number = 0
        self.log: dict[PartitionId, Rows] = {place: [] for place in PLACES}

    @property
    def topic_ids(self) -> dict[TopicName, str]:
        return {EVENTS: f"id-{self._topic_number}"}

    def send(self, counts: Sequence[int]) -> None:
        for place, count in zip(PLACES, counts, strict=True):
            self.log[place] += range(self._sent, self._sent + count)
            self._sent += count

    def recreate(self) -> None:
        self._topic_number += 1
        self.log = {place: [] for place in PLACES}

    def copy_state(self) -> None:
        path = self.state / "state.json"
        self.copies += [path.read_bytes()] if path.exists() else []

    def restore_state(self) -> None:
        if self.copies:
            (self.state / "state.json").write_bytes(self._random.choice(self.copies))

    def now(self) -> ClusterNow:
        first = dict.fromkeys(PLACES, Offset(0))
        return ClusterNow(first, self._ends(), first, self.topic_ids)

    def next_end(self, reached: Position, *, is_last: bool) -> Position:
        """The end of a batch of any size, which its partitions share in any way."""
        if reached.topic_ids != self.topic_ids:
            raise QueryInterrupted("the topic was recreated")
        ends = self._ends()
        if not is_last:
            ends = {place: Offset(self._random.randint(reached.offsets[place], end)) for place, end in ends.items()}
        return reached.advanced(ends, self.topic_ids)

    def unlanded(self, batch: Batch) -> Rows:
        start = {**batch.start.offsets, **batch.already_landed}
        return [number for place in PLACES for number in self.log[place][start[place] : batch.end.offsets[place]]]

    def _ends(self) -> Offsets:
        return {place: Offset(len(found)) for place, found in self.log.items()}

    def visible(self) -> Rows:
        """What a reader sees that lists the table's folders."""
        files = Path(self.table.path).glob("**/*.parquet")
        return [number for file in files for number in pq.read_table(file, partitioning=None)["id"].to_pylist()]


def drive(world: World, actor: Actor, batches: int, *, is_last: bool = False) -> None:
    """Run the query as a driver does: again after a failure that passes, until it is taken over."""
    files = ScheduledFiles(LocalFiles(), actor)
    sink, state = PlainSink(cast("Any", files), world.table, QUERY), QueryState(files, str(world.state))
    while True:
        try:
            return run_query(world, sink, state, batches, is_last=is_last)
        except TakenOver:
            return None
        except QueryInterrupted:
            if is_last:
                raise
            actor.stop_before("restart")


def run_query(world: World, sink: PlainSink, state: QueryState, batches: int, *, is_last: bool) -> None:
    """The steps of `Query`, without Spark and Kafka."""
    saved, landed = state.claim(), sink.landed()
    plan = plan_start(saved or landed, world.now(), landed or NOWHERE)
    state.save(plan.position)
    reached, in_sink = plan.position, plan.landed
    for number in range(batches):
        state.check()
        end = world.next_end(reached, is_last=is_last)
        batch = Batch(QUERY, number, reached, end, in_sink)
        sink.write(cast("Any", PlainRows(world.unlanded(batch))), batch)
        state.save(end)
        reached, in_sink = end, batch.lands_at


def compact(world: World, actor: Actor) -> None:
    """Merge the small files; what stands in its way is told to who asked for it."""
    local.actor = actor
    try:
        compaction.compact_parquet(world.table, 2**20)
    except PenstockError:
        return


class Local:
    """The actor whose compaction runs; only one runs at a time."""

    actor: Actor


local = Local()
"""Compactions have no parameter for their files, so they find their actor here."""


@contextmanager
def no_spark() -> Iterator[None]:
    """Let sinks have the files that they are given, and compactions stop before each step that others can see."""
    merge, exchange = compaction.merge, compaction.exchange

    def stopping(name: str, act: Any) -> Any:
        def late(*given: Any) -> Any:
            local.actor.stop_before(name)
            return act(*given)

        return late

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_sink, "files_at", lambda _lake, files: files)
        patch.setattr(compaction, "LocalFiles", lambda: ScheduledFiles(LocalFiles(), local.actor))
        patch.setattr(compaction, "merge", stopping("merge", merge))
        patch.setattr(compaction, "exchange", stopping("exchange", exchange))
        patch.setattr("penstock.spark.files._LOCK_SECONDS", 0.0)
        patch.setattr("os.fsync", lambda _descriptor: None)
        yield


KINDS = ["", "create", "create", "move", "write", "remove", "list", "lock", "merge", "exchange"]
GO = st.tuples(st.just("go"), st.tuples(st.sampled_from([0, 0, 1, 1, 2]), st.sampled_from(KINDS)))
SEND = st.tuples(st.just("send"), st.tuples(*[st.integers(0, 4)] * len(PLACES)))
KILL = st.tuples(st.just("kill"), st.integers(0, 2))
CHANGE = st.tuples(st.sampled_from(["copy", "restore", "recreate"]), st.none())
HAPPENINGS = st.lists(st.one_of(*[GO] * 8, SEND, SEND, KILL, CHANGE), min_size=30, max_size=70)


class Life:
    """Two drivers and a compaction, each of them started again when it has ended."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._actors: list[Actor | None] = [None, None, None]

    def happen(self, event: str, what: Any) -> None:
        match event:
            case "send":
                self.world.send(what)
            case "go":
                self._actor(what[0]).go_past(what[1])
            case "kill":
                self._kill(what)
            case "copy":
                self.world.copy_state()
            case "restore":
                self.end()
                self.world.restore_state()
            case "recreate":
                self.world.recreate()

    def end(self) -> None:
        for number in range(len(self._actors)):
            self._kill(number)

    def _actor(self, number: int) -> Actor:
        actor = self._actors[number]
        if actor is None or actor.is_done:
            self._judge(actor)
            actor = self._actors[number] = (
                Actor("compaction", lambda own: compact(self.world, own))
                if number == 2
                else Actor(f"driver {number}", lambda own: drive(self.world, own, 4))
            )
        if number == 2:
            local.actor = actor
        return actor

    def _kill(self, number: int) -> None:
        actor, self._actors[number] = self._actors[number], None
        if actor is not None:
            actor.kill()
        self._judge(actor)

    def _judge(self, actor: Actor | None) -> None:
        if actor is not None and actor.failure is not None:
            raise AssertionError(f"{actor.name} failed after {actor.taken[-12:]}") from actor.failure


def assert_none_twice(rows: Rows) -> None:
    assert len(rows) == len(set(rows)), sorted(number for number in rows if rows.count(number) > 1)


def go(actor: int, *kinds: str) -> list[tuple[str, Any]]:
    return [("go", (actor, kind)) for kind in kinds]


OVERTAKEN = [
    *go(0, "create", "list"),
    *go(1, "create", "write", "write", "write"),
    *go(0, "remove", "remove"),
    *go(1, "move"),
]
"""A driver stops right after its claim, and removes what is staged while its successor writes a batch."""

TAKEN_FOR_DEAD = [
    *go(0, "create", "write", "write", "list"),
    *go(1, "create"),
    *go(0, "create", "move"),
    *go(1, "move"),
]
"""A driver stops before it adds its batch to the ledger, and goes on once its successor has claimed the table."""


@pytest.mark.timeout(600)
@fuzz(40, 10_000)
@given(HAPPENINGS, st.integers(0, 2**16))
@example(OVERTAKEN, 1)
@example(TAKEN_FOR_DEAD, 1)
def test_each_record_is_in_the_table_once_whoever_dies_or_overtakes(events: list[tuple[str, Any]], seed: int) -> None:
    with TemporaryDirectory() as directory, no_spark():
        world = World(Path(directory), seed)
        life = Life(world)
        world.send((3, 2, 1))
        try:
            for event, what in events:
                life.happen(event, what)
                assert_none_twice(world.visible())
        finally:
            life.end()
        last = Actor("the last driver", lambda own: drive(world, own, 1, is_last=True))
        last.finish()
        assert last.failure is None, last.failure
        rows = world.visible()
        assert_none_twice(rows)
        assert set(rows) >= {number for found in world.log.values() for number in found}
        assert LocalFiles().names(f"{world.table.state(QUERY)}/staging") == []
