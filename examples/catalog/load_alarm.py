"""An action of one's own: raises an alarm for loads that shrank, as they come, and for those that do not come."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Event, Thread
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from penstock.actions.action import Action
from penstock.actions.context import PipelineContext
from penstock.catalog.database import Database
from penstock.catalog.find.loads import JudgedSeries, loads
from penstock.config import Settings
from penstock.errors import Transient
from penstock.events.envelope import EventEnvelope


class LoadAlarmConfig(BaseModel):
    """Which loads are watched, and how often late ones are looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    grain: str = Field("daily", description="hourly, daily or monthly, as the loads say")
    look_every: float = Field(60, gt=0, description="seconds")


class LoadAlarm(Action):
    """A load that shrank is told by its event; a late one has none, so the catalog is asked from time to time."""

    Config: ClassVar[type[BaseModel]] = LoadAlarmConfig

    def __init__(self, config: LoadAlarmConfig, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._told: dict[tuple[str, ...], datetime] = {}
        self._stop = Event()
        self._watch = Thread(target=self._look_out, daemon=True)
        self._watch.start()

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """Watch the catalog in the database that the settings name."""
        return cls(LoadAlarmConfig.model_validate(config), ctx.settings)

    def act(self, event: EventEnvelope) -> None:
        """Look at one load."""
        load = event.event.safe_parameters
        count, before = load.get("recordCount"), load.get("recordCountBefore")
        if load.get("grain") == self._config.grain and count is not None and before and 2 * count < before:
            alarm(f"{event.event.entityUrn} shrank: {load['partition']} has {count:,} records, {before:,} before")

    def close(self) -> None:
        """Look no more."""
        self._stop.set()
        self._watch.join(10)

    def _look_out(self) -> None:
        while not self._stop.is_set():
            try:
                self._find_late()
            except Transient as error:
                alarm(f"nobody knows which loads are late: {error.message}")
            self._stop.wait(self._config.look_every)

    def _find_late(self) -> None:
        with Database(self._settings) as database, database.transaction() as connection:
            found = loads(connection, now=datetime.now(UTC), late=True)
        for load in found:
            if load.late and load.grain == self._config.grain:
                self._tell_once(load)

    def _tell_once(self, load: JudgedSeries) -> None:
        series = (load.urn, load.cluster, load.operation)
        if self._told.get(series) != load.last_time:
            self._told[series] = load.last_time
            alarm(f"{load.urn} is late: its last {load.operation} was {load.last_partition}, at {load.last_time:%F %R}")


def alarm(text: str) -> None:
    """Put your pager here."""
    print(f"ALARM {text}", flush=True)
