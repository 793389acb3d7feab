"""Settings from `penstock.yaml`, `PENSTOCK_*` variables and command-line options; later sources win."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from penstock.config.database_url import database_url_problem, local_database_url
from penstock.config.http_header import header_value_problem
from penstock.config.secrets import PassThrough, Section, hide
from penstock.config.validation import problems
from penstock.config.yaml_file import KeyPath, Value, YamlFile, read_to_check
from penstock.errors import ConfigError

DEFAULT_FILE = Path("penstock.yaml")
PREFIX = "PENSTOCK_"
FILE_VARIABLE = "PENSTOCK_SETTINGS"

Port = Annotated[int, Field(ge=1, le=65535)]


def _listed(value: object) -> object:
    """Return the elements of `[1, 2]`, of the text `1, 2`, or of a single value as a list of texts."""
    if isinstance(value, str):
        value = [item for item in value.strip().removeprefix("[").removesuffix("]").split(",") if item.strip()]
    return [str(item).strip() for item in (value if isinstance(value, list | tuple) else [value])]


def _checked_database(url: SecretStr) -> SecretStr:
    if problem := database_url_problem(url.get_secret_value()):
        raise ValueError(problem)
    return url


def _checked_token(token: SecretStr) -> SecretStr:
    if problem := header_value_problem(token.get_secret_value()):
        raise ValueError(f"the token {problem}")
    return token


DatabaseUrl = Annotated[SecretStr, AfterValidator(_checked_database)]
Token = Annotated[SecretStr, AfterValidator(_checked_token)]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


def default_cache() -> Path:
    """Return the user's cache directory, shared by all projects."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


class Ports(BaseModel):
    """Ports of the local stack, all on localhost."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kafka: Port = 9092
    registry: Port = 8081
    connect: Port = 8083
    collector: Port = 8000
    console: Port = 9000
    postgres: Port = 5433
    s3: Port = 9001


def _local_database(known: Mapping[str, Any]) -> SecretStr:
    """Return the URL of the local stack's database. `known` has the preceding fields, if valid."""
    ports, data = known.get("ports", Ports()), known.get("data", Path(".penstock"))
    return SecretStr(local_database_url(ports.postgres, data))


class Settings(BaseModel):
    """Addresses, credentials and options of all systems."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    bootstrap: str = Field("localhost:9092", description="Kafka's addresses, comma separated")
    kafka: PassThrough = Field(default_factory=PassThrough, description="any librdkafka setting, for every client")
    registry: str = Field("http://localhost:8081", description="the registry's URLs, comma separated, tried in order")
    registry_api: Literal["confluent", "by-id"] = Field("confluent", description="by-id: GET /schemas/id=<id>")
    registry_user: str | None = Field(None, description="user for basic authentication")
    registry_password: SecretStr | None = Field(None, description="password for basic authentication")
    registry_token: Token | None = Field(None, description="bearer token")
    registry_ca: Path | None = Field(None, description="PEM file of the registry's certificate authority")
    registry_certificate: Path | None = Field(None, description="PEM file of our own certificate, for mutual TLS")
    registry_key: Path | None = Field(None, description="PEM file of its key, if the certificate's has none")
    schema_ids: Literal["int", "long", "uuid"] = Field("int", description="schema ids written: 4, 8 or 16 bytes")
    timeout: float = Field(30.0, gt=0, le=3600, description="seconds that one call may take")
    ports: Ports = Field(default_factory=Ports, description="ports of the local stack")
    data: Path = Field(Path(".penstock"), description="the local stack's data and logs")
    database: DatabaseUrl = Field(
        default_factory=_local_database, description="PostgreSQL; by default the local stack's"
    )
    connect: str = Field("http://localhost:8083", description="Kafka Connect's URL")
    lake: str = Field("lake", description="where tables live: a directory or s3a://bucket/path")
    s3: PassThrough = Field(
        default_factory=PassThrough, description="S3 as Spark's fs.s3a has it: endpoint, access.key"
    )
    collector: Section = Field(default_factory=Section, description="the collector's own, see docs/collector.md")
    metrics_port: Port | None = Field(None, description="where `penstock run` serves Prometheus metrics, on localhost")
    metrics_host: str = Field("127.0.0.1", min_length=1, description="the address for metrics and /healthz of actions")
    jobs: Names = Field((), description="the metadata jobs to run, also called kafka.consumer.etl.jobid")
    cache: Path = Field(default_factory=default_cache, description="downloaded jars, shared by projects")
    ivy_settings: Path | None = Field(None, description="your own Ivy settings for downloads")
    mirror: str | None = Field(None, description="the URL of a Maven mirror for downloads")
    proxy: str | None = Field(None, description="http://host:port for downloads")


class LoadedSettings(NamedTuple):
    """The settings, and the source of each value by name (`ports.kafka`, `bootstrap`)."""

    settings: Settings
    sources: Mapping[str, str]
    file: YamlFile | None = None

    def place(self, path: KeyPath) -> str:
        """Return the source of a value, or of the nearest enclosing value: a line, a variable or an option."""
        source = _source(path, self.sources)
        in_file = self.file is not None and source.startswith(f"{self.file.path}:")
        return self.file.place(path) if self.file and in_file else source


class _Layered(NamedTuple):
    """A value before merging: key path, source and value."""

    path: KeyPath
    source: str
    value: Value


def load_settings(
    file: Path | None = None,
    env: Mapping[str, str] = os.environ,
    options: Mapping[str, Value] | None = None,
) -> LoadedSettings:
    """Merge file, environment and options. Raise a ConfigError with every problem and its position."""
    yaml_file = _read_file(file, env)
    layers = [*_from_file(yaml_file), *_from_env(env), *_from_options(options or {})]
    merged: dict[str, Value] = {}
    sources: dict[str, str] = {}
    for given, source, value in layers:
        path = _OTHER_NAMES.get(_name(given), given)
        _put(merged, path, value)
        sources[_name(path)] = source
    try:
        loaded = LoadedSettings(Settings.model_validate(merged), sources, yaml_file)
    except ValidationError as error:
        found = problems(error, Settings, lambda path: _source(path, sources))
        raise ConfigError(yaml_file.with_others(found) if yaml_file else found) from None
    if yaml_file and yaml_file.problems:
        raise ConfigError(list(yaml_file.problems))
    return loaded


def shown_settings(loaded: LoadedSettings) -> Iterable[tuple[str, str, str]]:
    """Yield each setting as (name, value without secrets, source)."""
    for name, value in loaded.settings:
        if isinstance(value, Section):
            for path, item in value.leaves():
                yield _name((name, *path)), hide(_name(path), item), loaded.place((name, *path))
        elif isinstance(value, Ports | PassThrough):
            items = value.items() if isinstance(value, PassThrough) else iter(value)
            for key, item in items:
                dotted = f"{name}.{key}"
                yield dotted, hide(key, item), loaded.sources.get(dotted, "default")
        elif isinstance(value, SecretStr):
            shown = hide(name, value.get_secret_value())
            yield name, shown, loaded.sources.get(name, "default")
        elif isinstance(value, tuple):
            yield name, ", ".join(value), loaded.sources.get(name, "default")
        else:
            yield name, "" if value is None else hide(name, value), loaded.sources.get(name, "default")


def _read_file(file: Path | None, env: Mapping[str, str]) -> YamlFile | None:
    named = file or (Path(env[FILE_VARIABLE]) if env.get(FILE_VARIABLE) else None)
    path = named or DEFAULT_FILE
    return None if named is None and not path.exists() else read_to_check(path, env)


def _from_file(file: YamlFile | None) -> list[_Layered]:
    return [_Layered(path, file.place(path), value) for path, value in _leaves(file.content)] if file else []


def _leaves(content: Mapping[str, Value]) -> Iterable[tuple[KeyPath, Value]]:
    for key, value in content.items():
        if isinstance(value, dict) and key in _NESTED:
            yield from (((key, name), item) for name, item in value.items())
        else:
            yield (key,), value


def _from_env(env: Mapping[str, str]) -> list[_Layered]:
    named = ((name, value) for name, value in sorted(env.items()) if name.startswith(PREFIX) and name != FILE_VARIABLE)
    return [_Layered(_env_path(name), name, value) for name, value in named]


def _env_path(name: str) -> KeyPath:
    """Map `PENSTOCK_REGISTRY_USER` to `registry_user`, `PENSTOCK_KAFKA_SASL_USERNAME` to `kafka`, `sasl.username`."""
    key = name.removeprefix(PREFIX).lower()
    if key in Settings.model_fields:
        return (key,)
    head, _, rest = key.partition("_")
    if head in _NESTED and rest:
        return (head, rest.replace("_", ".") if head in _DOTTED else rest)
    return (key,)


def _from_options(options: Mapping[str, Value]) -> list[_Layered]:
    given = ((name, value) for name, value in options.items() if value is not None)
    return [
        _Layered(tuple(name.split(".", 1)), f"--{name.replace('_', '-').replace('.', '-')}", value)
        for name, value in given
    ]


def _put(target: dict[str, Value], path: KeyPath, value: Value) -> None:
    head, *rest = (str(part) for part in path)
    if not rest:
        target[head] = value
        return
    inner = target.setdefault(head, {})
    if isinstance(inner, dict):
        inner[rest[0]] = value


def _name(path: Iterable[str | int]) -> str:
    return ".".join(str(part) for part in path)


def _source(path: KeyPath, sources: Mapping[str, str]) -> str:
    known = (sources.get(_name(path[:length])) for length in range(len(path), 0, -1))
    return next(filter(None, known), "settings")


_OTHER_NAMES: Mapping[str, KeyPath] = {"kafka.consumer.etl.jobid": ("jobs",)}
_DOTTED = ("kafka", "s3")
_NESTED = (*_DOTTED, "ports", "collector")
