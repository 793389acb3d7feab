"""Fuzz tests belong to the fault tests, and may take an hour in their long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.budget import IS_LONG

_HERE = Path(__file__).parent
_LONG_SECONDS = 3600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Select fuzz tests with `-m faults`, and lengthen their timeout in the long form."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.faults)
            if IS_LONG:
                item.add_marker(pytest.mark.timeout(_LONG_SECONDS))
