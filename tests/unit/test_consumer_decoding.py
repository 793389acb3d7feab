from __future__ import annotations

from typing import Any, get_args

import pytest
from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import RecordUndecodable, RegistryUnavailable
from penstock.events.record import ConsumerRecord
from penstock.kafka.decoding import Legacy, ReadKeyType, RecordDecoder
from penstock.schemas import AvroCodec, MemoryRegistry, Schema

UNKNOWN_ID = b"\x00\x7f\x00\x00\x01rest"


def message(value: bytes | None, key: bytes | None = None, offset: int = 0) -> Message:
    return Message(topic="orders", partition=1, offset=offset, key=key, value=value, timestamp=(1, 5))


def decoder(
    registry: Any = None, *, key_type: Any = "bytes", legacy: Any = "bytes", raw: bool = False
) -> RecordDecoder:
    return RecordDecoder(AvroCodec(registry or MemoryRegistry()), key_type, legacy, "raw" if raw else "raise")


class SilentRegistry(MemoryRegistry):
    """A registry that does not answer."""

    def by_id(self, schema_id: Any) -> Schema:
        raise RegistryUnavailable(f"nobody answers for {schema_id}")


@given(value=st.binary() | st.none(), key=st.binary() | st.none(), data=st.data())
def test_any_bytes_are_a_record_or_undecodable(value: bytes | None, key: bytes | None, data: Any) -> None:
    key_type, legacy = (data.draw(st.sampled_from(get_args(choices))) for choices in (ReadKeyType, Legacy))
    outcome = outcome_of(decoder(key_type=key_type, legacy=legacy), message(value, key))
    assert outcome == "a record" or outcome.startswith("orders/1/0: ")


def outcome_of(read: RecordDecoder, one: Message) -> str:
    try:
        read.records([one])
    except RecordUndecodable as error:
        return error.message
    return "a record"


def test_records_before_an_undecodable_one_are_given_and_its_error_comes_next() -> None:
    messages = [message(b"one"), message(UNKNOWN_ID, offset=1), message(b"three", offset=2)]
    read = decoder()
    assert [record.value for record in read.records(messages)] == [b"one"]
    with pytest.raises(RecordUndecodable, match=r"^orders/1/1: ") as caught:
        read.records(messages[1:])
    record = caught.value.details["record"]
    assert isinstance(record, ConsumerRecord)
    assert (record.value, record.offset, caught.value.details["origin"]) == (UNKNOWN_ID, 1, "orders/1/1")


def test_undecodable_records_are_given_raw_on_request() -> None:
    records = decoder(key_type="int", raw=True).records([message(UNKNOWN_ID), message(b"fine", key=b"12345")])
    assert [(record.key, record.value) for record in records] == [(None, UNKNOWN_ID), (b"12345", b"fine")]


def test_a_registry_that_does_not_answer_is_not_the_records_fault() -> None:
    for raw in (True, False):
        read = decoder(SilentRegistry(), raw=raw)
        assert len(read.records([message(b"one"), message(UNKNOWN_ID)])) == 1
        with pytest.raises(RegistryUnavailable):
            read.records([message(UNKNOWN_ID)])


def test_an_avro_key_that_is_none_is_named_as_the_key() -> None:
    with pytest.raises(RecordUndecodable, match=r"^orders/1/0: key: "):
        decoder(key_type="avro").records([message(b"", key=b"k")])


def test_an_empty_value_is_no_tombstone() -> None:
    records = decoder(legacy="text").records([message(b""), message(None)])
    assert [record.value for record in records] == ["", None]
