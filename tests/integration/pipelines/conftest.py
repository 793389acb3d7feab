"""A directory for the pipeline files of each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.config import Settings
from tests.pipeline_files import PipelineFiles


@pytest.fixture
def files(spark: SparkSession, settings: Settings, tmp_path: Path) -> PipelineFiles:
    """Where the test's pipelines are, and their lake."""
    return PipelineFiles(spark, settings, tmp_path)
