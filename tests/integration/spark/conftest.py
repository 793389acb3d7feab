"""A topic of events and a lake for each test of queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.config import Settings
from tests.lake_queries import Lake, LakeFormat


@pytest.fixture(params=["parquet", "delta"])
def lake_format(request: pytest.FixtureRequest) -> LakeFormat:
    """Both formats of tables."""
    chosen: LakeFormat = request.param
    return chosen


@pytest.fixture
def lake(spark: SparkSession, settings: Settings, topic: str, tmp_path: Path, lake_format: LakeFormat) -> Lake:
    """A lake in a directory, to be filled from the test's topic."""
    return Lake(spark, settings, topic, str(tmp_path / "lake"), lake_format, str(tmp_path / "state"))
