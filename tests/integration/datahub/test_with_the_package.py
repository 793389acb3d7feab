"""Plugins written for DataHub, run with DataHub's own package: the tests in `inside`, in a process that has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Running
from tests.datahub_package import ROOT, datahub_environment

INSIDE = Path(__file__).parent / "inside"
FILES = sorted(path.name for path in INSIDE.glob("test_*.py"))


@pytest.mark.timeout(900)  # the package may have to be fetched first
@pytest.mark.parametrize("name", FILES)
def test_with_datahubs_package(stack: Running, name: str) -> None:
    settings = stack.settings
    environment = datahub_environment(
        PENSTOCK_TEST_BOOTSTRAP=settings.bootstrap, PENSTOCK_TEST_REGISTRY=settings.registry
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(INSIDE / name)]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-5_000:]
