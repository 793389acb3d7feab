"""Validation of a pipeline with a session, the cluster and the registry, but without starting a query."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual alias

from penstock.config.suggest import did_you_mean
from penstock.config.yaml_file import KeyPath
from penstock.errors import Problem, TopicNotFound
from penstock.kafka.admin import Admin
from penstock.kafka.start import find_partitions
from penstock.pipelines.build import Builder
from penstock.pipelines.findings import Findings
from penstock.pipelines.formats import FORMATS
from penstock.pipelines.pipeline import DeclaredSink
from penstock.pipelines.source import CHANGES, KafkaSourceConfig
from penstock.spark.debezium.shape_rows import CDC
from penstock.spark.decoding import KAFKA, without_origin
from penstock.spark.failures import spark_failures
from penstock.spark.headers import HEADERS
from penstock.spark.queries.batch import good_rows

_SOURCE: KeyPath = ("source", "config")
_MESSAGE_TYPES = {
    "key": "binary",
    "value": "binary",
    "headers": HEADERS,
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
}


def check_pipeline(builder: Builder) -> list[Problem]:
    """Return every problem with its position in the file. Transient errors, such as a cluster outage, propagate."""
    findings = Findings(builder.pipeline.file)
    _check_topics(findings, builder)
    rows = _source_rows(findings, builder)
    if rows is not None:
        _check_protected(findings, builder, rows)
        rows = builder.protection()(rows)
    rows = _transformed(findings, builder, rows)
    for index, sink in enumerate(builder.pipeline.sinks):
        _check_sink(findings, builder, sink, ("sinks", index, "config"), rows)
    return findings.problems


def _check_topics(findings: Findings, builder: Builder) -> None:
    source = builder.pipeline.source
    with Admin(builder.settings) as admin:
        for path, name in _named_topics(builder):
            with findings.at(path):
                if not find_partitions(admin, [name]):
                    raise TopicNotFound(f"no topic matches {source.pattern}", hint="a pattern needs one to begin with")


def _named_topics(builder: Builder) -> Iterator[tuple[KeyPath, str]]:
    source = builder.pipeline.source
    key = "topic" if source.topic else "topics" if source.topics else "pattern"
    for index, name in enumerate(source.names):
        yield (*_SOURCE, key, index) if key == "topics" else (*_SOURCE, key), name


def _source_rows(findings: Findings, builder: Builder) -> DataFrame | None:
    """Return an empty DataFrame with the source's columns, or None if the columns cannot be determined."""
    if findings.problems and _rows_are_in_topics(builder.pipeline.source):
        return None
    with findings.at((*_SOURCE, "schema")), spark_failures("decoding"):
        decoder = builder.decoder()
        return good_rows(decoder, decoder.decode(no_messages(builder.session)))
    return None


def _rows_are_in_topics(source: KafkaSourceConfig) -> bool:
    """Whether the source's columns can only be determined from existing topics."""
    is_told_by_file = source.schema_ is not None and source.format != CHANGES
    return FORMATS[source.format].schema == "optional" and not is_told_by_file


def _check_protected(findings: Findings, builder: Builder, rows: DataFrame) -> None:
    """Report misspelled columns, whose values would be exposed. A table without changes has no known columns yet."""
    protection = builder.pipeline.protection
    columns = [name for name in rows.columns if name not in {CDC, KAFKA}]
    if protection is None or not columns:
        return
    for place, name in protection.unknown(columns):
        hint = did_you_mean(name, columns, f"it has {', '.join(columns)}")
        findings.add((*_SOURCE, "protect", *place), f"table {protection.table} has no column {name}", hint)


def _transformed(findings: Findings, builder: Builder, rows: DataFrame | None) -> DataFrame | None:
    """Return the rows after all transforms. After a failed transform, return None; the rest are only built."""
    for index, config in enumerate(builder.pipeline.transforms):
        given, rows = rows, None
        with findings.at(("transform", index, "config")), spark_failures("checking"):
            transform = config.build(builder.pipeline.directory)
            rows = transform(given) if given is not None else None
    return rows


def _check_sink(
    findings: Findings, builder: Builder, sink: DeclaredSink, path: KeyPath, rows: DataFrame | None
) -> None:
    """Check that the sink can be built and, if the rows are known, accepts the rows."""
    for place, message, hint in sink.config.refusals(builder.settings, runs_once=sink.trigger is None):
        findings.add((*path, *place), message, hint)
    if rows is None:
        with findings.at(path):
            builder.sink(sink)
        return
    names = without_origin(rows.schema).names
    missing = [(place, name) for place, name in sink.config.columns() if name not in names]
    for place, name in missing:
        hint = did_you_mean(name, names, f"the rows have {', '.join(names)}")
        findings.add((*path, *place), f"there is no column {name}", hint)
    if not missing:
        with findings.at(path), spark_failures("checking"):
            builder.sink(sink).check(rows.schema)


def no_messages(session: SparkSession) -> DataFrame:
    """Return an empty DataFrame with the columns of the Kafka source."""
    return session.range(0).select(*(F.lit(None).cast(kind).alias(name) for name, kind in _MESSAGE_TYPES.items()))
