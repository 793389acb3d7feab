"""`sql`: upsert a row of a PostgreSQL table for every event."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator

from penstock.actions.action import Action
from penstock.actions.builtin.sql_connection import Connections, check_database
from penstock.actions.builtin.sql_upsert import Upsert
from penstock.actions.context import PipelineContext
from penstock.actions.expressions import scope_of
from penstock.actions.expressions.field import ExpressionField
from penstock.events.envelope import EventEnvelope

Name = Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=r"^[^\x00]+$")]


def _checked_database(url: SecretStr) -> SecretStr:
    check_database(url.get_secret_value())
    return url


class SqlConfig(BaseModel):
    """Table, and the values of its columns."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    table: Annotated[str, StringConstraints(pattern=r"^[^.\x00]{1,63}(\.[^.\x00]{1,63})?$")] = Field(
        description="table, or schema.table"
    )
    columns: dict[Name, ExpressionField] = Field(min_length=1, max_length=500, description="column: path or expression")
    key: list[Name] = Field(min_length=1, description="the columns of the unique key that an event is known by")
    on_conflict: Literal["update", "nothing"] = Field("update", description="when the key is there already")
    newest: Name | None = Field(None, description="update only if this column's new value is not smaller")
    database: Annotated[SecretStr, AfterValidator(_checked_database)] | None = Field(
        None, description="postgresql://…; default: the setting `database`"
    )
    timeout: float = Field(30.0, gt=0, le=3600, description="seconds for one statement")

    @model_validator(mode="after")
    def _has_columns(self) -> Self:
        wanted = [*self.key, *([self.newest] if self.newest else [])]
        missing = [name for name in wanted if name not in self.columns]
        if missing:
            raise ValueError(f"{', '.join(missing)} is not among the columns")
        return self


class Sql(Action):
    """Writes each event with one statement, committed when `act` returns. Identifiers are quoted, values are bound.

    A database that is unreachable, restarting or overloaded is Transient. A rejected row is DatabaseRefused.
    """

    Config: ClassVar[type[BaseModel]] = SqlConfig

    def __init__(self, config: SqlConfig, database: str) -> None:
        self._values = list(config.columns.values())
        upsert = Upsert(config.table, list(config.columns), config.key, config.on_conflict == "update", config.newest)
        self._connections = Connections(database, upsert.statement(), config.timeout)

    @classmethod
    def create(cls, config: dict[str, Any], ctx: PipelineContext) -> Self:
        """Create the action. Without `database` in the config, the database of the settings is used."""
        checked = SqlConfig.model_validate(config)
        return cls(checked, (checked.database or ctx.settings.database).get_secret_value())

    def act(self, event: EventEnvelope) -> None:
        """Write one event."""
        scope = scope_of(event)
        self._connections.execute([value(scope) for value in self._values])

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()
