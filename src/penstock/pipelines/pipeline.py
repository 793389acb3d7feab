"""Declared pipeline, read from a file. Reports every mistake detectable without a connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from penstock.config import Settings
from penstock.config.suggest import did_you_mean
from penstock.config.yaml_file import KeyPath, YamlFile
from penstock.errors import ConfigError, Problem
from penstock.pipelines.findings import Findings
from penstock.pipelines.locations import absolute, jars_for
from penstock.pipelines.protect import Protection
from penstock.pipelines.row_schema import RowSchema, load_schema
from penstock.pipelines.sinks import SINKS
from penstock.pipelines.sinks.base import SinkConfig, SourceTable
from penstock.pipelines.sinks.kafka import KafkaSinkConfig
from penstock.pipelines.source import CHANGES, SOURCES, KafkaSourceConfig
from penstock.pipelines.spec import AVAILABLE_NOW, Part, PipelineFile, SinkEntry, parse_trigger
from penstock.pipelines.transforms import TRANSFORMS, TransformConfig

Kind = TypeVar("Kind", bound=Part)


@dataclass(frozen=True)
class DeclaredSink:
    """Declared sink: name within the pipeline, configuration, and trigger (None: run once over existing records)."""

    name: str
    config: SinkConfig
    trigger: str | None


@dataclass(frozen=True)
class Pipeline:
    """Contents of a pipeline file. A pipeline for the changes of one table also names the table."""

    file: YamlFile
    spec: PipelineFile
    source: KafkaSourceConfig
    schema: RowSchema | None
    transforms: tuple[TransformConfig, ...]
    sinks: tuple[DeclaredSink, ...]
    table: SourceTable | None = None

    @property
    def protection(self) -> Protection | None:
        """Protection of the captured table's columns, if the pipeline reads a table's changes."""
        return Protection(self.source.protect, self.table) if self.table else None

    @property
    def directory(self) -> Path:
        """Directory of the file, for relative paths in the file."""
        return self.file.path.absolute().parent

    def state(self, settings: Settings) -> str:
        """Return the location of the queries' progress."""
        return absolute(self.spec.options.state or settings.lake)

    def jars(self, settings: Settings) -> frozenset[str]:
        """Return the parts of the lock needed by a driver for the pipeline."""
        sinks = (sink.config.jars(settings) for sink in self.sinks)
        return frozenset({"spark"}).union(jars_for(self.state(settings)), *sinks)


def read_pipelines(files: Sequence[YamlFile]) -> list[Pipeline]:
    """Read every file as a pipeline. Raise a ConfigError with the problems of all files."""
    found: list[Pipeline] = []
    problems: list[Problem] = []
    for file in files:
        try:
            found.append(read_pipeline(file))
        except ConfigError as error:
            problems += error.problems
    problems += _shared_names(found)
    if problems:
        raise ConfigError(problems)
    return found


def read_pipeline(file: YamlFile) -> Pipeline:
    """Read a file as a pipeline. Raise a ConfigError with every problem and its line."""
    findings = Findings(file)
    spec = findings.model(PipelineFile, file.content)
    content = file.content
    source = _configured(findings, SOURCES, ("source",), content.get("source"))
    transforms = [_configured(findings, TRANSFORMS, path, entry) for path, entry in _entries(content, "transform")]
    sinks = [_configured(findings, SINKS, path, entry) for path, entry in _entries(content, "sinks")]
    schema = _load_schema(findings, source, file.path.parent) if source else None
    declared = tuple(_declared(*pair) for pair in zip(spec.sinks if spec else (), filter(None, sinks), strict=False))
    # Cross-checks are meaningful only if all values are known.
    if spec and source and None not in sinks and not file.unset:
        _check_names(findings, spec, declared)
        _check_loops(findings, spec, source, declared)
    findings.refuse()
    assert spec and source  # noqa: S101, PT018 - problems were raised above
    return Pipeline(file, spec, source, schema, tuple(filter(None, transforms)), declared)


def _configured(findings: Findings, kinds: Mapping[str, type[Kind]], path: KeyPath, entry: object) -> Kind | None:
    """Validate the `config:` of an entry by its type.

    After a problem, recorded here or by the outer model, return None.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("type"), str):
        return None
    name = entry["type"]
    if name not in kinds:
        hint = did_you_mean(name, kinds, f"choose one of {', '.join(kinds)}")
        findings.add((*path, "type"), f"there is no {path[0]} of type {name}", hint)
        return None
    return findings.model(kinds[name], entry.get("config", {}), (*path, "config"))


def _entries(content: Mapping[str, Any], key: str) -> Iterator[tuple[KeyPath, object]]:
    entries = content.get(key)
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        yield (key, index), entry


def _load_schema(findings: Findings, source: KafkaSourceConfig, directory: Path) -> RowSchema | None:
    with findings.at(("source", "config", "schema")):
        return load_schema(source.schema_, directory) if source.schema_ else None
    return None


def _declared(entry: SinkEntry, config: SinkConfig) -> DeclaredSink:
    trigger = entry.trigger or str(parse_trigger(config.default_trigger))
    name = entry.name or "-".join(filter(None, (entry.type, config.target)))
    return DeclaredSink(name, config, None if trigger == AVAILABLE_NOW else trigger)


def _check_names(findings: Findings, spec: PipelineFile, sinks: Sequence[DeclaredSink]) -> None:
    """Reject duplicate sink names, because progress is stored by name."""
    counts = Counter(sink.name for sink in sinks)
    for index, sink in enumerate(sinks):
        if counts[sink.name] > 1:
            place = "name" if spec.sinks[index].name else "type"
            findings.add(("sinks", index, place), f"two sinks are called {sink.name}", "give one of them another name")


def _check_loops(
    findings: Findings, spec: PipelineFile, source: KafkaSourceConfig, sinks: Sequence[DeclaredSink]
) -> None:
    """Reject a pipeline that reads its own output: such a pipeline never ends."""
    if source.reads(spec.dead_letters):
        findings.add(("options", "dead_letters"), "the source reads this topic", "name another one")
    told = spec.options.schema_events
    if source.format == CHANGES and told is not None and source.reads(told):
        findings.add(("options", "schema_events"), "the source reads this topic", "name another one")
    for index, sink in enumerate(sinks):
        is_same_cluster = isinstance(sink.config, KafkaSinkConfig) and sink.config.connection is None
        if is_same_cluster and source.reads(sink.config.target):
            findings.add(("sinks", index, "config", "topic"), "the source reads this topic", "name another one")
        if is_same_cluster and sink.config.target == spec.dead_letters:
            findings.add(("sinks", index, "config", "topic"), "it takes the dead letters", "name another one")


def _shared_names(pipelines: Sequence[Pipeline]) -> Iterator[Problem]:
    first: dict[str, Pipeline] = {}
    for pipeline in pipelines:
        other = first.setdefault(pipeline.spec.name, pipeline)
        if other is not pipeline:
            message = f"name: {other.file.path} is called {pipeline.spec.name} too"
            yield Problem(pipeline.file.place(("name",)), message, "progress is kept by name; choose another")
