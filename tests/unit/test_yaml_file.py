from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.config.yaml_file import read_yaml
from penstock.errors import ConfigError
from tests.bounded import within


def problem(path: Path) -> tuple[str, str]:
    """The place and the message of the one problem with a file."""
    with pytest.raises(ConfigError) as caught:
        read_yaml(path, {})
    (only,) = caught.value.problems
    return only.place, only.message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2020-99-99", "'2020-99-99' cannot be read: month must be in 1..12"),
        ("2020-01-01 99:99:99", "hour must be in 0..23"),
        ("9" * 6_000, "too long for a number"),
        ("0x" + "f" * 6_000, "too long for a number"),
        ("1" + ":00" * 300_000, "too long for a number"),
        ("[" * 5_000, "nested deeper than 50 levels"),
        ("{a: " * 5_000, "nested deeper than 50 levels"),
        ("!!int x", "'x' cannot be read"),
        ("!!timestamp x", "'x' cannot be read"),
        ("!!bool x", "'x' cannot be read"),
        ('"\\ud800"', "half of a surrogate pair"),
        ('"\\UFFFFFFFF"', "not YAML"),
        ("\0", "the character U+0000 is not allowed"),
        ("!!python/object:os.system x", "could not determine a constructor"),
    ],
)
def test_a_value_that_cannot_be_read_is_one_problem_with_its_line(tmp_path: Path, value: str, message: str) -> None:
    path = tmp_path / "penstock.yaml"
    path.write_text(f"first: 1\nsecond: {value}\n")
    place, found = within(3, problem, path)
    assert place == f"{path}:2"
    assert message in found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(), st.text("-:[]{}&*!|>%@`'\"#?, \nab019<.eExX_", max_size=60)))
def test_any_text_is_a_mapping_or_a_problem_with_a_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        assert isinstance(read_yaml(path, {}).content, dict)
    except ConfigError as error:
        assert all(each.place.startswith(str(path)) for each in error.problems)  # noqa: PT017 - no error is fine too
