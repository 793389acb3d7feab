"""Interpretation of a registry's answers as JSON or errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.errors import PenstockError, RegistryRefused, SchemaIncompatible, SchemaNotFound, SchemaSyntaxError
from penstock.schemas.registry.http import Answer

_OK = range(200, 300)
_NOT_FOUND = 404
_INVALID_SCHEMA = 42201
_AUTHENTICATION = frozenset({401, 403})
_INCOMPATIBLE = frozenset({409, 40901})
_NOT_A_REGISTRY = "the address may lack a path, such as /apis/ccompat/v7 for Apicurio; check PENSTOCK_REGISTRY"
_LOGIN = "set PENSTOCK_REGISTRY_USER and PENSTOCK_REGISTRY_PASSWORD, or PENSTOCK_REGISTRY_TOKEN"


def json_of(answer: Answer, tried: str) -> Any:  # noqa: ANN401 - the caller knows the type
    """Return the JSON of a successful answer. `tried` describes the request in errors."""
    if answer.status not in _OK:
        raise refusal(answer, tried)
    try:
        return json.loads(answer.body)
    except ValueError as error:
        raise not_a_registry(answer) from error


@contextmanager
def shaped(answer: Answer) -> Iterator[None]:
    """Raise the error of `not_a_registry` for missing keys or wrong types in the answer's JSON."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise not_a_registry(answer) from error


def refusal(answer: Answer, tried: str) -> PenstockError:
    """Return the error for an unsuccessful answer."""
    if answer.status in _AUTHENTICATION:
        return RegistryRefused(f"{tried}: {answer.url} does not let us in (HTTP {answer.status})", hint=_LOGIN)
    code, message = _error_body(answer)
    if code is None:
        return not_a_registry(answer)
    if code in _INCOMPATIBLE:
        return SchemaIncompatible(
            f"{tried}: the registry refuses it as incompatible",
            hint="`penstock schemas check` explains each reason",
            reasons=[message],
        )
    if answer.status == _NOT_FOUND:
        return SchemaNotFound(f"{tried}: {message}", hint="`penstock schemas list` shows what is there")
    kind = SchemaSyntaxError if code == _INVALID_SCHEMA else RegistryRefused
    return kind(f"{tried}: {message} (registry's code {code})")


def not_a_registry(answer: Answer) -> RegistryRefused:
    """Return the error for an answer that does not come from a registry."""
    kind = answer.content_type or "no content type"
    return RegistryRefused(
        f"{answer.url} does not answer as a schema registry: HTTP {answer.status}, {kind}", hint=_NOT_A_REGISTRY
    )


def _error_body(answer: Answer) -> tuple[int | None, str]:
    try:
        body = json.loads(answer.body)
    except ValueError:
        return None, ""
    if not isinstance(body, dict) or not isinstance(body.get("error_code"), int):
        return None, ""
    return body["error_code"], str(body.get("message", "")).rstrip(".")
