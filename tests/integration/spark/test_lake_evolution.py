"""A table's columns change with the schema of its events, as far as all its files can be read together."""

from __future__ import annotations

import pytest

from penstock.errors import ConfigError, SchemaIncompatible
from tests.integration.conftest import CreateTopic, Fill
from tests.lake_queries import Lake, event

NUMBER = "id BIGINT NOT NULL, kind STRING, day STRING, number BIGINT"
NARROWER = "id BIGINT NOT NULL, kind STRING, day STRING, number INT, note STRING"
OTHER = "id BIGINT NOT NULL, kind STRING, day STRING, number STRING"
GONE = "id BIGINT NOT NULL, kind STRING, day STRING"


def test_columns_come_and_go_and_narrower_numbers_fit_into_wider_ones(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    for number, ddl in enumerate((NUMBER, NARROWER, GONE)):
        fill(lake.topic, [event(number, number=2**31 + 5 if ddl == NUMBER else 7, note="new")])
        lake.but(ddl=ddl).run()
    found = {row["id"]: (row.get("number"), row.get("note")) for row in lake.rows()}
    assert found == {0: (2**31 + 5, None), 1: (7, "new"), 2: (None, None)}


def test_what_could_not_be_read_back_is_refused_before_anything_is_written(
    lake: Lake, create_topic: CreateTopic, fill: Fill
) -> None:
    create_topic(1)
    fill(lake.topic, [event(0, number=7)])
    lake.but(ddl=NARROWER).run()
    fill(lake.topic, [event(1, number="8")])
    for ddl, reason in ((OTHER, "number is int in the table's files and string"), (NUMBER, "and bigint in the rows")):
        with pytest.raises(SchemaIncompatible, match=reason):
            lake.but(ddl=ddl).run()
    with pytest.raises(ConfigError, match="partitioned by kind, day, not by day"):
        lake.but(ddl=NARROWER, partition_by=("day",)).run()
    assert lake.ids() == [0]
