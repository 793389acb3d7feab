"""Errors of schemas and of records, and of the registry that keeps schemas."""

from __future__ import annotations

from penstock.errors.base import Terminal, Transient


class SchemaError(Terminal):
    """Something is wrong with a schema."""

    code = "schema"


class SchemaSyntaxError(SchemaError, ValueError):
    """The text is not an Avro schema; the message has the line or the place."""

    code = "schema.syntax"


class SchemaIncompatible(SchemaError):
    """The registry's compatibility rule forbids this version; `details["reasons"]` lists why."""

    code = "schema.incompatible"


class SchemaNotFound(SchemaError, LookupError):
    """The registry has no such subject, version or id."""

    code = "schema.not_found"


class RecordError(Terminal):
    """Something is wrong with one record."""

    code = "record"


class RecordInvalid(RecordError, ValueError):
    """A value does not fit its schema; the message names the field and the value."""

    code = "record.invalid"


class RecordUndecodable(RecordError, ValueError):
    """The bytes are not what their schema, or their wire format, says."""

    code = "record.undecodable"


class RecordTooLarge(RecordError):
    """The record is larger than the client or the broker takes."""

    code = "record.too_large"


class TransformFailed(RecordError):
    """A transform of a pipeline fails on the record; the message has the error and the record's origin."""

    code = "record.transform"


class RegistryRefused(Terminal):
    """The registry said no, or what answers at its address is not a registry."""

    code = "registry.refused"


class RegistryUnavailable(Transient, ConnectionError):
    """No registry answers at any of its addresses."""

    code = "registry.unavailable"


class LetterNotFound(Terminal, LookupError):
    """No dead letter stands at the place, or has it as its origin."""

    code = "dead_letter.not_found"
