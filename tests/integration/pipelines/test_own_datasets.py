"""What a pipeline writes appears in the catalog by itself."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.catalog.database import Database
from penstock.catalog.find.dataset import DatasetView, view
from penstock.catalog.own_datasets import table_urn, topic_urn
from penstock.config import Settings
from tests.conftest import RunCommand
from tests.integration.conftest import CreateTopic, Fill
from tests.pipeline_files import PipelineFiles, kafka_sink, kafka_source, lake_sink, sql


def known(settings: Settings, urn: str) -> DatasetView:
    with Database(settings) as database, database.transaction() as connection:
        return view(connection, urn)


def columns(found: DatasetView) -> list[tuple[Any, ...]]:
    return [(field["path"], field["type"], field["nullable"]) for field in found.fields]


@pytest.mark.timeout(600)
def test_the_topic_and_the_table_of_a_pipeline_are_known(
    files: PipelineFiles,
    run_command: RunCommand,
    create_topic: CreateTopic,
    fill: Fill,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PENSTOCK_DATABASE", files.settings.database.get_secret_value())
    topic = create_topic()
    fill(topic, [b'{"n": 1}'])
    file = files.write(
        topic,
        owner="urn:li:corpuser:ann",
        source=kafka_source(topic, format="json", schema="n INT NOT NULL"),
        transform=[sql("SELECT n, n * 2L AS twice FROM source")],
        sinks=[kafka_sink(f"{topic}-out"), lake_sink(topic, lake=str(files.lake))],
    )
    ran = run_command("run", file)
    assert (ran.code, "does not know" in ran.err) == (0, False), ran.err

    out = known(files.settings, topic_urn(f"{topic}-out"))
    table = known(files.settings, table_urn(f"{files.lake}/{topic}"))
    for each in (out, table):
        assert columns(each) == [("n", "int", True), ("twice", "bigint", True)]
        assert [owner["owner"] for owner in each.owners] == ["urn:li:corpuser:ann"]
        assert each.upstream == [topic_urn(topic)]
    assert len(known(files.settings, topic_urn(topic)).downstream) == 2
