"""An Avro schema: its text, what it refers to, and its parsed form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from penstock.errors import SchemaSyntaxError
from penstock.schemas import avro
from penstock.schemas.avro import AvroType, NamedTypes


@dataclass(frozen=True)
class Reference:
    """A named type that is defined in another subject's schema."""

    name: str
    subject: str
    version: int
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """An Avro schema, checked when made by `from_text` or `from_file`."""

    text: str
    references: tuple[Reference, ...] = ()

    @classmethod
    def from_text(cls, text: str, references: Iterable[Reference] = ()) -> Schema:
        """Parse a schema's JSON text; the types it takes from elsewhere come with `references`."""
        schema = cls(text, tuple(references))
        schema._parsed  # noqa: B018 - parsing is what refuses a wrong text
        return schema

    @classmethod
    def from_file(cls, path: Path | str, references: Iterable[Reference] = ()) -> Schema:
        """Read a schema file (`.avsc`); an error names the file and the place in it."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaSyntaxError(f"{path}: cannot be read: {error}", hint="name an Avro schema file") from error
        return cls.from_text(text, references)

    @property
    def parsed(self) -> AvroType:
        """The schema as fastavro parsed it."""
        return self._parsed[0]

    @property
    def named(self) -> NamedTypes:
        """Every named type in the schema or its references, by full name."""
        return self._parsed[1]

    @property
    def name(self) -> str | None:
        """The full name of a record, enum or fixed; other types have none."""
        return self.parsed.get("name") if isinstance(self.parsed, dict) else None

    @cached_property
    def fingerprint(self) -> str:
        """The MD5 of the parsing canonical form, as 32 hexadecimal digits."""
        return avro.fingerprint(self.parsed)

    @cached_property
    def _parsed(self) -> tuple[AvroType, NamedTypes]:
        named: NamedTypes = {}
        for reference in self.references:
            named.update(reference.schema.named)
        return avro.parse(self.text, named), named
