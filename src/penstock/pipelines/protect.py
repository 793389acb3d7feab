"""Declaration of the protected columns of a captured database."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Self, get_args

from pydantic import Field, SecretStr, model_validator

from penstock.config.yaml_file import KeyPath
from penstock.connect.patterns import is_meant
from penstock.pipelines.sinks.base import SourceTable
from penstock.pipelines.spec import Part, worded
from penstock.spark.debezium.columns import folded, lake_name
from penstock.spark.protecting import Treatment, protecting
from penstock.spark.transforms import Transform

ColumnPattern = Annotated[
    str, worded(r"([^.\s]+\.){1,2}[^.\s]+", "a column, written table.column or schema.table.column")
]

_SHORTEST: Final = 16
_STRICTEST_FIRST: Final[Sequence[Treatment]] = get_args(Treatment)
_WILD: Final = re.compile(r"[*?]")


class ProtectConfig(Part):
    """Columns as `table.column` or `schema.table.column`, ignoring case, `*` for any text. The strictest rule wins."""

    drop: list[ColumnPattern] = Field(default_factory=list, description="left out")
    mask: list[ColumnPattern] = Field(default_factory=list, description="**** in place of text, null of other types")
    hash: list[ColumnPattern] = Field(default_factory=list, description="HMAC-SHA-256 in hex, by the secret")
    secret: SecretStr | None = Field(None, min_length=_SHORTEST, description="from the environment")

    @model_validator(mode="after")
    def _has_a_secret(self) -> Self:
        if self.hash and self.secret is None:
            raise ValueError(f'hash needs a secret of {_SHORTEST} characters or more: secret: "${{SHOP_SECRET}}"')
        return self

    def patterns(self, treatment: Treatment) -> list[str]:
        """Return the column patterns of a treatment."""
        return {"drop": self.drop, "mask": self.mask, "hash": self.hash}[treatment]


@dataclass(frozen=True)
class Protection:
    """Protection rules applied to a table."""

    config: ProtectConfig
    table: SourceTable

    def treatment(self, column: str) -> Treatment | None:
        """Return the treatment of a column, or None if the column is unprotected."""
        for treatment in _STRICTEST_FIRST:
            if any(self._is_meant(pattern, column) for pattern in self.config.patterns(treatment)):
                return treatment
        return None

    def hashed(self, text: str) -> str:
        """Return the hash stored in place of a hashed column's value."""
        return hmac.digest(self._secret, text.encode(), "sha256").hex()

    def transform(self) -> Transform:
        """Return the transform to remove, mask or hash protected values."""
        return protecting(self.treatment, self._secret)

    def unknown(self, columns: Sequence[str]) -> Iterator[tuple[KeyPath, str]]:
        """Yield columns named in full but missing from the table, with positions below `protect`."""
        found = set(map(folded, columns))
        for treatment in _STRICTEST_FIRST:
            for index, pattern in enumerate(self.config.patterns(treatment)):
                column = pattern.rpartition(".")[2]
                is_ours = not _WILD.search(pattern) and self._is_meant(pattern, column)
                if is_ours and folded(column) not in found:
                    yield (treatment, index), column

    @property
    def _secret(self) -> bytes:
        return self.config.secret.get_secret_value().encode() if self.config.secret else b""

    def _is_meant(self, pattern: str, column: str) -> bool:
        # A dot within a name would shift the boundaries of schema, table and column.
        parts = (self.table.schema, self.table.name, lake_name(column))
        schema, table, name = (part.replace(".", "_").lower() for part in parts)
        full = f"{schema}.{table}.{name}" if pattern.count(".") > 1 else f"{table}.{name}"
        return is_meant(full, (pattern.lower(),))
