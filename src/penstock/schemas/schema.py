"""Avro schema: text, references and parsed forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import fastavro
from fastavro.schema import to_parsing_canonical_form

from penstock.errors import SchemaSyntaxError
from penstock.schemas.avro.emit import to_json
from penstock.schemas.avro.model import NamedType, Type
from penstock.schemas.avro.parse import ParsedSchema, parse_schema, syntax_error


@dataclass(frozen=True)
class Reference:
    """Named type defined in the schema of another subject."""

    name: str
    subject: str
    version: int
    schema: Schema = field(repr=False)


@dataclass(frozen=True)
class Schema:
    """Avro schema. `from_text` and `from_file` validate the schema; `source` is the origin of the text."""

    text: str
    references: tuple[Reference, ...] = ()
    source: str = field(default="", compare=False, repr=False)

    def __hash__(self) -> int:
        """Return the hash of text and references. Computed once, because references are shared."""
        return self._hash

    @classmethod
    def from_text(cls, text: str, references: Iterable[Reference] = (), *, source: str = "") -> Schema:
        """Parse a schema's JSON text. Types defined elsewhere come from `references`."""
        schema = cls.from_registry(text, references, source=source)
        wrong = schema._parsed.wrong_defaults  # noqa: SLF001 - a schema looks into a schema
        if wrong:
            raise syntax_error(wrong, source)
        return schema

    @classmethod
    def from_registry(cls, text: str, references: Iterable[Reference] = (), *, source: str = "") -> Schema:
        """Parse a schema from a registry. Invalid defaults are ignored, not rejected."""
        schema = cls(text, tuple(references), source)
        schema._parsed  # noqa: B018 - parsing validates the text
        return schema

    @classmethod
    def from_file(cls, path: Path | str, references: Iterable[Reference] = ()) -> Schema:
        """Read a schema file (`.avsc`). Errors contain the file and the position."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaSyntaxError(f"{path} cannot be read: {error}", hint="name an Avro schema file") from error
        return cls.from_text(text, references, source=str(path))

    @property
    def type(self) -> Type:
        """Return the schema's root type."""
        return self._parsed.root

    @property
    def parsed(self) -> Any:  # noqa: ANN401 - fastavro's schemas are strings, lists and dicts
        """Return the schema as parsed by fastavro, with all referenced types inlined."""
        return fastavro.parse_schema(to_json(self.type))

    @property
    def name(self) -> str | None:
        """Return the full name of a record, enum or fixed; None for other types."""
        return self.type.name if isinstance(self.type, NamedType) else None

    @cached_property
    def fingerprint(self) -> str:
        """Return the MD5 of the parsing canonical form, as 32 hexadecimal digits."""
        return str(fastavro.schema.fingerprint(to_parsing_canonical_form(to_json(self.type)), "MD5"))

    @cached_property
    def _hash(self) -> int:
        return hash((self.text, self.references))

    @cached_property
    def _parsed(self) -> ParsedSchema:
        known: dict[str, NamedType] = {}
        for reference in self.references:
            known.update(reference.schema._parsed.names)  # noqa: SLF001 - a schema looks into a schema
        return parse_schema(self.text, known, self.source)
