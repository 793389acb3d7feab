"""Transforms available to pipelines. Each is a configuration and builds a function from rows to rows."""

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
    """Configuration of one transform. The built function does no I/O and is called for every batch."""

    @abstractmethod
    def build(self, directory: Path) -> Transform:
        """Build the function. `directory` is the directory of the pipeline's file."""


class SqlTransform(TransformConfig):
    """Spark SQL query. The input rows are the view `source`."""

    query: Text

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - SQL needs no files
        """Return a transform that runs the query."""
        return transforms.sql(self.query)


class FilterTransform(TransformConfig):
    """Filter that keeps the rows matching a condition."""

    condition: Text

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - as above
        """Return a transform that applies the filter."""
        return transforms.keep(self.condition)


class SelectTransform(TransformConfig):
    """Selection of columns or expressions."""

    columns: list[Text] = Field(min_length=1)

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - as above
        """Return a transform that selects the columns."""
        return transforms.select(self.columns)


class DropTransform(TransformConfig):
    """Removal of columns."""

    columns: list[Text] = Field(min_length=1)

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - as above
        """Return a transform that drops the columns."""
        return transforms.drop(self.columns)


class RenameTransform(TransformConfig):
    """Renaming of columns, old name to new name."""

    columns: dict[Text, Text] = Field(min_length=1)

    def build(self, directory: Path) -> Transform:  # noqa: ARG002 - as above
        """Return a transform that renames the columns."""
        return transforms.rename(self.columns)


class PythonTransform(TransformConfig):
    """User-defined function `DataFrame -> DataFrame`, as `module:function`. Modules next to the file are importable."""

    function: Annotated[str, worded(r"[\w.]+:\w+", "a function, written module:function")]
    arguments: dict[str, Any] = Field(default_factory=dict)

    def build(self, directory: Path) -> Transform:
        """Import the function and return it as a transform. Executors receive a module next to the file."""
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
    """Send a module next to the file to executors, for UDFs."""
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


def _called(name: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - foreign code returns anything
    try:
        return call()
    except (PenstockError, PySparkException):
        raise
    except Exception as error:  # foreign code may raise any error, and the pipeline must report it
        raise QueryFailed(f"{name}: {type(error).__name__}: {error}", hint="correct the function") from error
