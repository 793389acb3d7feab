"""What may be asked of the catalog, with a limit on everything that comes from outside."""

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
    """The parameters of a request; one that is not known is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SearchQuestion(Question):
    """Which datasets have these words."""

    q: Words
    limit: Count = 20


class DatasetQuestion(Question):
    """What is known of a dataset, given by URN or name."""

    dataset: DatasetName
    versions: Annotated[int, Field(ge=1, le=100)] = 20
    loads: Count = 10


class OwnersQuestion(Question):
    """Who owns a dataset, and did before."""

    dataset: DatasetName


class LineageQuestion(Question):
    """What a dataset comes from, and where it goes."""

    dataset: DatasetName
    depth: Annotated[int, Field(ge=1, le=20)] = 3


class LoadsQuestion(Question):
    """When a dataset, or each of them, was loaded, and which load is late."""

    dataset: DatasetName | None = None
    late: bool = False
    as_of: Annotated[str, StringConstraints(max_length=100)] = "0s ago"
    limit: Count = 100


Asked = TypeVar("Asked", bound=Question)


def question(model: type[Asked], request: Request) -> Asked:
    """The request's parameters, in its path and behind it; UsageError with all that is wrong with them."""
    try:
        return model.model_validate({**request.query_params, **request.path_params})
    except ValidationError as error:
        found = [_complaint(str(item["loc"][0]), item["type"], item["msg"]) for item in error.errors()]
        raise UsageError("; ".join(found), hint=f"it takes {', '.join(model.model_fields)}") from None


def _complaint(name: str, kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return f"there is no parameter {name:.{_SHOWN}}"
    return f"{name}: {message[:1].lower()}{message[1:]}"
