"""Registration of Penstock's own topics and tables in the catalog."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from penstock.catalog.database import Database
from penstock.catalog.intake import take
from penstock.catalog.staging.rows import Refusal, StagedRow
from penstock.catalog.staging.tables import METADATA_CHANGE
from penstock.events.record import Offset, Origin, Partition, TopicName
from penstock.schemas import Schema
from penstock.schemas.avro.model import RecordType, Type, UnionType, type_name


@dataclass(frozen=True)
class Field:
    """Column of a table, or field of a topic's records."""

    path: str
    type: str
    nullable: bool = True


@dataclass(frozen=True)
class OwnDataset:
    """Topic or table with its fields, owner and upstreams. None makes no statement."""

    urn: str
    fields: Sequence[Field] | None = None
    owner: str | None = None
    upstreams: Sequence[str] | None = None
    description: str | None = None


def avro_fields(schema: Schema) -> list[Field]:
    """Return the fields of the schema's records. A nullable field is reported with its non-null type."""
    fields = schema.type.fields if isinstance(schema.type, RecordType) else []
    return [_avro_field(field.name, field.type) for field in fields]


def topic_urn(topic: str) -> str:
    """Return the URN of a topic."""
    return f"urn:li:dataset:(urn:li:dataPlatform:kafka,{topic},PROD)"


def table_urn(table: str) -> str:
    """Return the URN of a table in the lake."""
    return f"urn:li:dataset:(urn:li:dataPlatform:lake,{table},PROD)"


def register(database: Database, pipeline: str, datasets: Sequence[OwnDataset], now: datetime) -> list[Refusal]:
    """Register the datasets that a pipeline reads and writes. Repeated registration does not change the catalog."""
    return take(database, METADATA_CHANGE, [_row(pipeline, dataset, now) for dataset in datasets])


def _row(pipeline: str, dataset: OwnDataset, now: datetime) -> StagedRow:
    """Return a metadata row written by Penstock. Its origin is made of the pipeline, the dataset and the time."""
    moment = round(now.timestamp() * 1000)
    place = Partition(zlib.crc32(dataset.urn.encode()) & 0x7FFFFFFF)
    owners = None if dataset.owner is None else [{"owner": dataset.owner, "type": "TECHNICAL_OWNER"}]
    fields = None if dataset.fields is None else [asdict(field) for field in dataset.fields]
    values = {
        "urn": dataset.urn,
        "change_type": "UPSERT",
        "actor": "urn:li:corpuser:penstock",
        "source": "penstock",
        "description": dataset.description,
        "schema_fields": _json(fields),
        "owners": _json(owners),
        "upstreams": _json(None if dataset.upstreams is None else list(dataset.upstreams)),
        "log_event_time": moment,
    }
    return StagedRow(Origin(TopicName(f"penstock:{pipeline}"), place, Offset(moment)), values)


def _avro_field(name: str, avro_type: Type) -> Field:
    branches = avro_type.branches if isinstance(avro_type, UnionType) else (avro_type,)
    names = [type_name(branch) for branch in branches]
    others = [each for each in names if each != "null"]
    return Field(name, " | ".join(others) or "null", nullable="null" in names)


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value)
