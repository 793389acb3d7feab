"""Errors of schemas, records, dead letters and the schema registry."""

from __future__ import annotations

from penstock.errors.base import Terminal, Transient


class SchemaError(Terminal):
    """A schema is invalid, incompatible or missing."""

    code = "schema"


class SchemaSyntaxError(SchemaError, ValueError):
    """The text is not an Avro schema; the message names the line or the path in the schema."""

    code = "schema.syntax"


class SchemaIncompatible(SchemaError):
    """The registry's compatibility rule forbids this version; `details["reasons"]` lists the reasons."""

    code = "schema.incompatible"


class SchemaNotFound(SchemaError, LookupError):
    """The registry has no such subject, version or id."""

    code = "schema.not_found"


class RecordError(Terminal):
    """A record is invalid."""

    code = "record"


class RecordInvalid(RecordError, ValueError):
    """A value does not fit its schema; the message names the field and the value."""

    code = "record.invalid"


class RecordUndecodable(RecordError, ValueError):
    """The bytes do not match their schema or wire format."""

    code = "record.undecodable"


class RecordTooLarge(RecordError):
    """The record is larger than the client or the broker accepts."""

    code = "record.too_large"


class TransformFailed(RecordError):
    """A transform of a pipeline fails on the record; the message has the error and the record's origin."""

    code = "record.transform"


class RegistryRefused(Terminal):
    """The registry rejected the request, or the server at its address is not a registry."""

    code = "registry.refused"


class RegistryUnavailable(Transient, ConnectionError):
    """No registry answers at any of its addresses."""

    code = "registry.unavailable"


class LetterNotFound(Terminal, LookupError):
    """No dead letter matches the position or the origin."""

    code = "dead_letter.not_found"
