"""Decoded record with its keys as attributes, without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import msgspec


class Fields(Mapping[str, Any]):
    """View of a dict: `fields.auditStamp.actor`, `fields["auditStamp"]`, `fields.get("auditStamp")`.

    Nested records are views too. A missing key that the event type declares is None as an attribute.
    """

    __slots__ = ("data",)

    known: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - what a record holds
        """Return the value under the key `name`."""
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _viewed(self.data[name])
        except KeyError:
            if name in self.known:
                return None
            raise AttributeError(f"{type(self).__name__} has no field {name}") from None

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - as above
        """Return the value under a key."""
        return _viewed(self.data[key])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self.data)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self.data)

    def __repr__(self) -> str:
        """Show the record in Python notation."""
        return f"{type(self).__name__}({self.data!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle only the data."""
        return type(self), (self.data,)

    def to_obj(self, *, tuples: bool = False) -> dict[str, Any]:  # noqa: ARG002 - DataHub's signature
        """Return the plain record, with bytes as text."""
        plain: dict[str, Any] = as_plain(self.data)
        return plain

    def as_json(self) -> str:
        """Return the record as JSON, with bytes as text."""
        return msgspec.json.encode(as_plain(self.data)).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse a record from JSON."""
        return cls(msgspec.json.decode(text, type=dict[str, Any]))


def as_plain(value: Any) -> Any:  # noqa: ANN401 - values of any type are walked
    """Return the value with bytes, such as JSON embedded in Avro, as text. Bytes that are not UTF-8 are escaped."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {str(key): as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    return value.to_obj() if isinstance(value, Fields) else value


def _viewed(value: Any) -> Any:  # noqa: ANN401 - as above
    return Fields(value) if isinstance(value, dict) else value
