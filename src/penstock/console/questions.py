"""Parameters of catalog requests, with limits on all external input."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.requests import Request

from penstock.errors import UsageError

_NO_NUL = r"^[^\x00]+$"
_SHOWN = 100

Words = Annotated[str, StringConstraints(max_length=500, pattern=_NO_NUL)]
DatasetName = Annotated[str, StringConstraints(max_length=1000, pattern=_NO_NUL)]
Count = Annotated[int, Field(ge=1, le=1000)]


class Question(BaseModel):
    """Parameters of a request. Unknown parameters are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SearchQuestion(Question):
    """Search for datasets by words."""

    q: Words
    limit: Count = 20


class DatasetQuestion(Question):
    """Request for a dataset, given by URN or name."""

    dataset: DatasetName
    versions: Annotated[int, Field(ge=1, le=100)] = 20
    loads: Count = 10


class OwnersQuestion(Question):
    """Request for the current and former owners of a dataset."""

    dataset: DatasetName


class LineageQuestion(Question):
    """Request for the sources and destinations of a dataset."""

    dataset: DatasetName
    depth: Annotated[int, Field(ge=1, le=20)] = 3


class LoadsQuestion(Question):
    """Request for the loads of one or all datasets. `late` selects late or shrunken loads."""

    dataset: DatasetName | None = None
    late: bool = False
    as_of: Annotated[str, StringConstraints(max_length=100)] = "0s ago"
    limit: Count = 100


Asked = TypeVar("Asked", bound=Question)


def question(model: type[Asked], request: Request) -> Asked:
    """Parse the parameters in a request's path and query string. A UsageError lists all invalid parameters."""
    try:
        return model.model_validate({**request.query_params, **request.path_params})
    except ValidationError as error:
        found = [_complaint(str(item["loc"][0]), item["type"], item["msg"]) for item in error.errors()]
        raise UsageError("; ".join(found), hint=f"it takes {', '.join(model.model_fields)}") from None


def _complaint(name: str, kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return f"there is no parameter {name:.{_SHOWN}}"
    return f"{name}: {message[:1].lower()}{message[1:]}"
