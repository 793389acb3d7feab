"""Readiness checks."""

from __future__ import annotations

from http import HTTPStatus

import httpx

_TIMEOUT_SECONDS = 2.0


def answers(url: str) -> bool:
    """Whether a GET of this URL returns 200."""
    try:
        return httpx.get(url, timeout=_TIMEOUT_SECONDS, trust_env=False).status_code == HTTPStatus.OK
    except httpx.TransportError:
        return False
