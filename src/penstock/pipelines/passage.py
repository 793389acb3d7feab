"""Effect of a pipeline's transforms on the rows of a captured table."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from penstock.pipelines.build import Builder
from penstock.pipelines.check import no_messages
from penstock.pipelines.transforms import FilterTransform
from penstock.pipelines.verify.guard import Passage
from penstock.spark.changes.lineage import Made, keeps_rows, made_of
from penstock.spark.failures import spark_failures
from penstock.spark.queries.batch import good_rows
from penstock.spark.transforms import chain


def passage_of(builder: Builder) -> Passage:
    """Determine how transforms map a table's columns, using an empty DataFrame. Filters change no columns."""
    pipeline = builder.pipeline
    others = [each for each in pipeline.transforms if not isinstance(each, FilterTransform)]
    with spark_failures("looking at the transforms"):
        decoder = builder.decoder()
        rows = builder.protection()(good_rows(decoder, decoder.decode(no_messages(builder.session))))
        result = chain([each.build(pipeline.directory) for each in others])(rows)
        has_filter = len(others) < len(pipeline.transforms)
        return _passage(rows, made_of(result, rows), keeps_rows=not has_filter and keeps_rows(result, rows))


def _passage(rows: DataFrame, made: Mapping[str, Made], *, keeps_rows: bool) -> Passage:
    copies = {source: name for name, each in made.items() if each.is_copy for source in each.sources}
    own = {name: name for name in copies if made.get(name) == Made(frozenset({name}), is_copy=True)}
    return Passage({name: {**copies, **own}.get(name) for name in rows.columns}, keeps_rows)
