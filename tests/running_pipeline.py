"""A pipeline that a test runs on a thread, with an action that is a function of the test's."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, ClassVar, Self

from penstock.actions.assembly import Mode
from penstock.actions.pipeline import Pipeline
from penstock.actions.spec import PipelineSpec
from penstock.actions.tally import Counts, total
from penstock.actions.unit import PipelineThread
from penstock.config import Settings
from penstock.events.envelope import EventEnvelope
from penstock.events.record import GroupName, Partition, TopicName
from penstock.kafka.admin import Admin
from penstock.kafka.offsets import PartitionId, committed_offsets

Act = Callable[[EventEnvelope], Any]

_FUNCTIONS: dict[str, Act] = {}


class Calling:
    """An action in DataHub's style, without a base of ours: it calls the function that its config names."""

    contexts: ClassVar[dict[str, Any]] = {}

    def __init__(self, name: str) -> None:
        self._act = _FUNCTIONS[name]

    @classmethod
    def create(cls, config: dict[str, Any], ctx: Any) -> Calling:
        cls.contexts[ctx.pipeline_name] = ctx
        return cls(config["function"])

    def act(self, event: EventEnvelope) -> Any:
        return self._act(event)

    def close(self) -> None: ...


def pipeline_file(name: str, topic: str, settings: Settings, act: Act, **given: Any) -> dict[str, Any]:
    """The content of a file for a pipeline that reads a topic from its beginning; `source`, `options` and so on."""
    function = uuid.uuid4().hex
    _FUNCTIONS[function] = act
    connection = {"bootstrap": settings.bootstrap, "schema_registry_url": settings.registry}
    source = {"connection": connection, "topic_routes": {"pe": topic}, "start": "earliest", **given.pop("source", {})}
    return {
        "name": name,
        "source": {"type": "kafka", "config": source},
        "action": {"type": "tests.running_pipeline:Calling", "config": {"function": function}},
        **given,
    }


class RunningPipeline:
    """Runs a pipeline while the block runs, then ends it in good order."""

    def __init__(
        self, topic: str, settings: Settings, act: Act, *, name: str = "", mode: Mode | None = None, **given: Any
    ) -> None:
        self.name = name or topic
        self.settings = settings
        self.topic = topic
        self.spec = PipelineSpec.model_validate(pipeline_file(self.name, topic, settings, act, **given))
        self._data = TemporaryDirectory()
        own = settings.model_copy(update={"data": Path(self._data.name)})
        self.pipeline = Pipeline(self.spec, own, mode or Mode())
        self.thread = PipelineThread(self.pipeline)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.thread.stop()
        self.thread.end()
        self._data.cleanup()

    def until(self, condition: Callable[[], object], seconds: float = 30.0) -> None:
        """Wait for a condition; a pipeline that fails meanwhile is an error."""
        give_up = time.monotonic() + seconds
        while not condition():
            assert self.thread.failure is None, self.thread.failure
            assert time.monotonic() < give_up, (self.counts, self.thread.vitals())
            time.sleep(0.01)

    def ended(self, seconds: float = 30.0) -> Exception | None:
        """Wait until the pipeline has ended by itself; its failure."""
        assert self.thread.join(seconds), self.thread.vitals()
        return self.thread.failure

    @property
    def counts(self) -> Counts:
        """What became of all events."""
        return total(self.pipeline.tally.by_type.values())

    def committed(self, partition: int = 0) -> int | None:
        """The group's offset, as the broker knows it."""
        return committed(self.settings, self.name, self.topic, partition)


def committed(settings: Settings, group: str, topic: str, partition: int = 0) -> int | None:
    """A group's offset in a partition, as the broker knows it."""
    place = PartitionId(TopicName(topic), Partition(partition))
    with Admin(settings) as admin:
        return committed_offsets(admin, GroupName(group), [place]).get(place)
