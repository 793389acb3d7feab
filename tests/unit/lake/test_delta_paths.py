"""Paths in Delta's log: whatever a writer escapes, the file is the same."""

from __future__ import annotations

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from penstock.lake.delta_paths import decode, is_plain, is_relative, sibling
from tests.unit.lake.delta_of_spark import folder_of, uri

VALUES = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(VALUES)
def test_spark_s_and_delta_rs_spelling_of_a_path_are_the_same_file(value: str | None) -> None:
    path = f"{folder_of(value)}/part-0.parquet"
    for reference in (uri(path), quote(path, safe="/"), quote(path, safe="/=~")):
        assert decode(reference) == path
        assert is_relative(reference)
        assert decode(sibling(reference, "part-1.parquet")) == f"{folder_of(value)}/part-1.parquet"


@given(VALUES)
def test_a_plain_path_is_spelled_by_all_writers_alike(value: str | None) -> None:
    path = f"{folder_of(value)}/part-0.parquet"
    assert is_plain(path) == (uri(path) == quote(path, safe="/=") == path and "~" not in path)
