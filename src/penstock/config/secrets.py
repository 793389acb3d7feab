"""Keep secrets out of output and logs."""

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
    r"passw(or)?d|passphrase|pwd|secret|token|jaas|credential|private|authorization|\.key\.pem|ssl\.key|account[._-]?key"
    r"|encryption[._-]?key|api[._-]?key|shared_?access_?(key(?!_?name)|signature)|oauthbearer\.config|user\.info"
    r"|(^(-D)?|[._-])(pg)?pass$",
    re.IGNORECASE,
)
# A user or password that should have been percent-encoded may contain "@", a password also "/": the password ends at
# the last "@" of its URL.
_URL_PASSWORD = re.compile(r"(?<=://)([^/:\s]*):(?:(?!,[a-z][a-z0-9+.-]*://)\S)*@", re.IGNORECASE)
_NAME = re.compile(r"(?<![\w.%-])([\w.%-]+)([\]\"')]*)\s*=\s*")
_WORD = r"(?:\\.|\S)*"
_OF_A_WORD = re.compile(
    rf"(?:'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|\{{(?:[^}}]|\}}\}})*\}}?)?{_WORD}",
    re.DOTALL,
)
_VALUES_AFTER = {
    **dict.fromkeys("?&", re.compile(r"[^&\s]*")),
    "'": re.compile(rf"(?:[^'\\]|\\.)*{_WORD}", re.DOTALL),
    '"': re.compile(rf"(?:[^\"\\]|\\.)*{_WORD}", re.DOTALL),
}
"""Secret values, by the character before their names: parameters of URLs end at `&`, quoted words at the quote."""


def is_secret(key: str) -> bool:
    """Whether the name of a setting marks a secret value."""
    return _SECRET_KEY.search(key) is not None and not key.endswith(".location")


def hide(key: str, value: object) -> str:
    """Return the value for display: hidden if the name marks a secret, else without secrets inside its text."""
    return HIDDEN if is_secret(key) else without_secrets(str(value))


def without_secrets(text: str) -> str:
    """Return the text without URL passwords and without the values of words such as `password=...`, quoted or not."""
    text = _URL_PASSWORD.sub(rf"\1:{HIDDEN}@", text)
    shown, end = "", 0
    for name in _NAME.finditer(text):
        if name.start() >= end and is_secret(unquote(name[1])):
            shown += text[end : name.end()] + HIDDEN
            end = _end_of_value(text, name)
    return shown + text[end:]


def _end_of_value(text: str, name: re.Match[str]) -> int:
    before = "" if name[2] else text[name.start() - 1 : name.start()]
    value = _VALUES_AFTER.get(before, _OF_A_WORD).match(text, name.end())
    return value.end() if value else len(text)


class PassThrough(Mapping[str, Any]):
    """Options passed to a library unchanged. Their text form hides secrets."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - the library decides on the types
        """Return the value of an option."""
        return self._options[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the option names."""
        return iter(self._options)

    def __len__(self) -> int:
        """Return the number of options."""
        return len(self._options)

    def __repr__(self) -> str:
        """Return the options with every secret hidden."""
        return repr({key: hide(key, value) for key, value in self._options.items()})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 - pydantic's signature
        """Let settings models accept a plain mapping for this type."""
        return core_schema.no_info_after_validator_function(cls, handler(dict[str, str | int | float | bool]))


class Section(PassThrough):
    """Settings of a single component, nested as in the file. The component validates them; secrets stay hidden."""

    def leaves(self) -> Iterator[tuple[KeyPath, Any]]:
        """Yield each scalar value with its path."""
        return _leaves((), self._options)

    def __repr__(self) -> str:
        """Return the values by dotted name, with every secret hidden."""
        named = ((".".join(map(str, path)), value) for path, value in self.leaves())
        return repr({name: hide(name, value) for name, value in named})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 - as above
        """Let settings models accept any nested mapping for this type."""
        return core_schema.no_info_after_validator_function(cls, handler(dict[str, Any]))


def _leaves(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, Any]]:  # noqa: ANN401 - values of any type are walked
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield path, value
        return
    for key, item in inner:
        yield from _leaves((*path, key), item)
