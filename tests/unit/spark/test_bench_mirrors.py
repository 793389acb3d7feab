"""The benchmark's changes are like those that the decoder makes; the sizes are the only difference."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def test_a_benchmarks_mirror_takes_its_changes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    bench = SimpleNamespace(session=spark, settings=SimpleNamespace(lake=str(tmp_path)))
    mirror = importlib.import_module("_mirrors").BenchMirror(bench, 100)
    assert mirror.change(10) > 0
    stored = spark.read.format("delta").load(mirror.table.path)
    assert stored.count() == 100
    assert 0 < stored.filter("_cdc.op = 'u'").count() <= 10
