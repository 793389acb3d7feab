"""These tests need DataHub's package: `test_with_the_package.py` runs them in a process that has it."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("datahub_actions") else ["test_*.py"]
