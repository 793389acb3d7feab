"""The transforms that a pipeline can name: each is its configuration, and makes a function from rows to rows."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.errors import PenstockError, QueryFailed
from penstock.pipelines.spec import Part, worded
from penstock.spark import transforms
from penstock.spark.changes.following import following
from penstock.spark.transforms import Transform

Text = Annotated[str, StringConstraints(min_length=1)]


class TransformConfig(Part, ABC):
    """One transform; the function that it makes neither reads nor writes, and is called for every batch."""

    @abstractmethod
    def build(self, directory: Path) -> Transform:
        """The function; `directory` is where the pipeline's file is."""


class SqlTransform(TransformConfig):
    """Any Spark SQL; the rows are `source`."""

    query: Text

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - SQL needs no files
        """As the base says."""
        return transforms.sql(self.query)


class FilterTransform(TransformConfig):
    """The rows for which a condition holds."""

    condition: Text

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - as above
        """As the base says."""
        return transforms.keep(self.condition)


class SelectTransform(TransformConfig):
    """These columns or expressions."""

    columns: list[Text] = Field(min_length=1)

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - as above
        """As the base says."""
        return transforms.select(self.columns)


class DropTransform(TransformConfig):
    """All columns but these."""

    columns: list[Text] = Field(min_length=1)

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - as above
        """As the base says."""
        return transforms.drop(self.columns)


class RenameTransform(TransformConfig):
    """Columns under other names, old to new."""

    columns: dict[Text, Text] = Field(min_length=1)

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - as above
        """As the base says."""
        return transforms.rename(self.columns)


class PythonTransform(TransformConfig):
    """A function of the user's, `DataFrame -> DataFrame`, by `module:function`; modules beside the file are found."""

    function: Annotated[str, worded(r"[\w.]+:\w+", "a function, written module:function")]
    arguments: dict[str, Any] = Field(default_factory=dict)

    def build(self, directory: Path) -> Transform:
        """As the base says."""
        found = _imported(self.function, directory)
        module = directory / f"{self.function.partition(':')[0]}.py"

        def transform(rows: DataFrame) -> DataFrame:
            if module.exists():
                _ship(rows.sparkSession.sparkContext, module)
            result = _called(self.function, lambda: found(rows, **self.arguments))
            if not isinstance(result, DataFrame):
                raise QueryFailed(
                    f"{self.function} gives {type(result).__name__}, not a DataFrame",
                    hint="return the rows that it makes",
                )
            return result

        return following(transform)


TRANSFORMS: Mapping[str, type[TransformConfig]] = {
    "sql": SqlTransform,
    "filter": FilterTransform,
    "select": SelectTransform,
    "drop": DropTransform,
    "rename": RenameTransform,
    "python": PythonTransform,
}


@cache
def _ship(spark: SparkContext, module: Path) -> None:
    """Let executors import a module that stands beside the file, for UDFs in it."""
    spark.addPyFile(str(module))


def _imported(name: str, directory: Path) -> Callable[..., object]:
    module, _, attribute = name.partition(":")
    place = str(directory.absolute())
    if place not in sys.path:
        sys.path.insert(0, place)
    found: object = getattr(_called(name, lambda: import_module(module)), attribute, None)
    if not callable(found):
        raise QueryFailed(f"module {module} has no function {attribute}", hint=f"it is read from {place} and sys.path")
    return found


def _called(name: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - foreign code gives anything
    try:
        return call()
    except (PenstockError, PySparkException):
        raise
    except Exception as error:  # foreign code may raise anything, and its pipeline must say so
        raise QueryFailed(f"{name}: {type(error).__name__}: {error}", hint="correct the function") from error
