"""Keeping secrets out of everything that a person or a log can read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from penstock.config.yaml_file import KeyPath

HIDDEN = "********"

_SECRET_KEY = re.compile(
    r"passw(or)?d|passphrase|pwd|secret|token|jaas|credential|private|authorization|\.key\.pem|ssl\.key|account\.key"
    r"|encryption[._-]?key|api[._-]?key|oauthbearer\.config|user\.info",
    re.IGNORECASE,
)
# A password that should have been percent-encoded may contain "/" and "@": it ends at the last "@" of its URL.
_URL_PASSWORD = re.compile(r"(?<=://)([^/@:\s]*):(?:(?!,[a-z][a-z0-9+.-]*://)\S)*@", re.IGNORECASE)
_URL_PARAMETER = re.compile(r"(?<=[?&;])([^=&;\s]+)=[^&\s]*")
_WORD = re.compile(r"(?<![^\s,])([\w.%-]+)(\s*=\s*)('(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|(?:\\.|\S)*)", re.DOTALL)


def is_secret(key: str) -> bool:
    """Whether the value of a setting of this name must never be shown."""
    return _SECRET_KEY.search(key) is not None and not key.endswith(".location")


def hide(key: str, value: object) -> str:
    """The value as it may be shown: hidden for a secret's name, else without the secrets in its text."""
    return HIDDEN if is_secret(key) else without_secrets(str(value))


def without_secrets(text: str) -> str:
    """The text without passwords of URLs and without the values of words such as `password=...`, quoted or not."""
    text = _URL_PASSWORD.sub(rf"\1:{HIDDEN}@", text)
    text = _URL_PARAMETER.sub(lambda found: _hidden_if_secret(found, f"{found[1]}={HIDDEN}"), text)
    return _WORD.sub(lambda found: _hidden_if_secret(found, f"{found[1]}{found[2]}{HIDDEN}"), text)


def _hidden_if_secret(found: re.Match[str], hidden: str) -> str:
    return hidden if is_secret(unquote(found[1])) else found[0]


class PassThrough(Mapping[str, Any]):
    """Options handed on to a library as they are, whose text form hides the secrets among them."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - the library behind decides on the types
        """The value of one option."""
        return self._options[key]

    def __iter__(self) -> Iterator[str]:
        """The names of the options."""
        return iter(self._options)

    def __len__(self) -> int:
        """How many options there are."""
        return len(self._options)

    def __repr__(self) -> str:
        """The options with every secret hidden."""
        return repr({key: hide(key, value) for key, value in self._options.items()})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 - pydantic's signature
        """Let settings models take a plain mapping for this type."""
        return core_schema.no_info_after_validator_function(cls, handler(dict[str, str | int | float | bool]))


class Section(PassThrough):
    """One room's own settings, nested as they stand in the file; the room checks them, secrets stay hidden."""

    def leaves(self) -> Iterator[tuple[KeyPath, Any]]:
        """Each value that holds no others, with its path."""
        return _leaves((), self._options)

    def __repr__(self) -> str:
        """The values by their dotted names, with every secret hidden."""
        named = ((".".join(map(str, path)), value) for path, value in self.leaves())
        return repr({name: hide(name, value) for name, value in named})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 - as above
        """Let settings models take any nested mapping for this type."""
        return core_schema.no_info_after_validator_function(cls, handler(dict[str, Any]))


def _leaves(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, Any]]:  # noqa: ANN401 - values of any type are walked
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield path, value
        return
    for key, item in inner:
        yield from _leaves((*path, key), item)
