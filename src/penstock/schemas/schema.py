"""An Avro schema: its text, what it refers to, and its parsed forms."""

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
    """A named type that is defined in another subject's schema."""

    name: str
    subject: str
    version: int
    schema: Schema = field(repr=False)


@dataclass(frozen=True)
class Schema:
    """An Avro schema, checked when made by `from_text` or `from_file`; `source` is where its text came from."""

    text: str
    references: tuple[Reference, ...] = ()
    source: str = field(default="", compare=False, repr=False)

    def __hash__(self) -> int:
        """The hash of text and references, computed once: references share what they refer to."""
        return self._hash

    @classmethod
    def from_text(cls, text: str, references: Iterable[Reference] = (), *, source: str = "") -> Schema:
        """Parse a schema's JSON text; the types it takes from elsewhere come with `references`."""
        schema = cls.from_registry(text, references, source=source)
        wrong = schema._parsed.wrong_defaults  # noqa: SLF001 - a schema looks into a schema
        if wrong:
            raise syntax_error(wrong, source)
        return schema

    @classmethod
    def from_registry(cls, text: str, references: Iterable[Reference] = (), *, source: str = "") -> Schema:
        """Parse a schema that a registry keeps: a default that does not fit its field is left out, not refused."""
        schema = cls(text, tuple(references), source)
        schema._parsed  # noqa: B018 - parsing is what refuses a wrong text
        return schema

    @classmethod
    def from_file(cls, path: Path | str, references: Iterable[Reference] = ()) -> Schema:
        """Read a schema file (`.avsc`); an error names the file and the place in it."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaSyntaxError(f"{path} cannot be read: {error}", hint="name an Avro schema file") from error
        return cls.from_text(text, references, source=str(path))

    @property
    def type(self) -> Type:
        """The schema's root type."""
        return self._parsed.root

    @property
    def parsed(self) -> Any:  # noqa: ANN401 - fastavro's schemas are strings, lists and dicts
        """The schema as fastavro parsed it, with every type it refers to inside."""
        return fastavro.parse_schema(to_json(self.type))

    @property
    def name(self) -> str | None:
        """The full name of a record, enum or fixed; other types have none."""
        return self.type.name if isinstance(self.type, NamedType) else None

    @cached_property
    def fingerprint(self) -> str:
        """The MD5 of the parsing canonical form, as 32 hexadecimal digits."""
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
