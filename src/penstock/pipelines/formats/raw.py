"""Unparsed messages: rows of key and value as bytes."""

from __future__ import annotations

from penstock.pipelines.formats.base import Format, Messages
from penstock.spark.decoding import Decoder
from penstock.spark.raw_rows import RawRows


def _decoder(messages: Messages) -> Decoder:  # noqa: ARG001 - all messages are accepted
    return RawRows()


FORMAT = Format(schema="none", decoder=_decoder)
