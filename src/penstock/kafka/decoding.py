"""Decode messages to records: Avro by schema id, legacy values as configured, tombstones as None."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

from confluent_kafka import Message

from penstock.errors import PenstockError, RecordError, RecordUndecodable, SchemaError, UsageError
from penstock.events.record import ConsumerRecord
from penstock.kafka.keys import KeyType, key_serde
from penstock.schemas import AvroCodec, claims_schema

ReadKeyType = Literal[KeyType, "avro"]
Legacy = Literal["bytes", "text", "json"]
OnUndecodable = Literal["raise", "raw"]
Decode = Callable[[bytes], object]


class RecordDecoder:
    """Decoder of messages.

    `legacy` is the format of values without a schema. `on_undecodable` decides whether a record with an invalid key or
    value raises an error ("raise") or is returned with both as raw bytes ("raw").
    """

    def __init__(self, codec: AvroCodec, key_type: ReadKeyType, legacy: Legacy, on_undecodable: OnUndecodable) -> None:
        self._decode_value = codec.decode
        self._decode_key = _avro_key(codec) if key_type == "avro" else key_serde(key_type).decode
        self._decode_legacy = _legacy_decoder(legacy)
        if on_undecodable not in get_args(OnUndecodable):
            raise UsageError(f"on_undecodable={on_undecodable!r} is not a choice", hint="choose raise or raw")
        self._raw_instead = on_undecodable == "raw"

    def records(self, messages: Iterable[Message]) -> list[ConsumerRecord]:
        """Decode messages up to the first failure. If the very first message fails, raise its error.

        RecordUndecodable means that the record itself is invalid; `details["record"]` has the undecoded record. After a
        different error, such as an unavailable registry, a retry may decode the message.
        """
        records: list[ConsumerRecord] = []
        for message in messages:
            try:
                records.append(self._record(message))
            except (RecordError, SchemaError) as error:
                if self._raw_instead:
                    records.append(raw_record(message))
                elif records:
                    break
                else:
                    raise _undecodable(raw_record(message), error) from error
            except PenstockError:
                if records:
                    break
                raise
        return records

    def _record(self, message: Any) -> ConsumerRecord:  # noqa: ANN401 - the stub's messages may have no offset
        key, value = message.key(), message.value()
        if key is not None:
            key = self._decode_key(key)
        has_schema = value is not None and claims_schema(value)
        if has_schema:
            value = self._decode_value(value)
        elif value is not None:
            value = self._decode_legacy(value)
        return _at_its_place(message, key, value, has_schema)


def _at_its_place(message: Any, key: object, value: object, has_schema: bool) -> ConsumerRecord:  # noqa: ANN401 - as above
    return ConsumerRecord(
        key,
        value,
        message.headers() or (),
        message.timestamp()[1],
        message.topic(),
        message.partition(),
        message.offset(),
        has_schema,
    )


def raw_record(message: Any) -> ConsumerRecord:  # noqa: ANN401 - as above
    """Return the message with key and value undecoded."""
    return _at_its_place(message, message.key(), message.value(), has_schema=False)


def _undecodable(record: ConsumerRecord, error: PenstockError) -> RecordUndecodable:
    return RecordUndecodable(
        f"{record.origin}: {error.message}",
        hint=error.hint or "go on to skip it, or read such records as they are with on_undecodable='raw'",
        origin=str(record.origin),
        record=record,
        cause=error.code,
    )


def _avro_key(codec: AvroCodec) -> Decode:
    def decode(data: bytes) -> object:
        try:
            return codec.decode(data)
        except (RecordError, SchemaError) as error:
            raise RecordUndecodable(f"key: {error.message}", hint=error.hint) from error

    return decode


def _legacy_decoder(legacy: Legacy) -> Decode:
    decoders: dict[str, Decode] = {"bytes": lambda data: data, "text": _text, "json": _json}
    if legacy not in decoders:
        raise UsageError(f"legacy={legacy!r} is not a choice", hint=f"choose one of {', '.join(decoders)}")
    return decoders[legacy]


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RecordUndecodable(f"the value is not UTF-8: {error}", hint="read it with legacy='bytes'") from error


def _json(data: bytes) -> object:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RecordUndecodable(f"the value is not JSON: {error}", hint="read it with legacy='bytes'") from error
    return value
