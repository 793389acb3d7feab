from pathlib import Path

import pytest

from penstock.collector.config import CollectorSettings, collector_settings
from penstock.collector.topics import load_topics
from penstock.config.settings import load_settings
from penstock.errors import ConfigError


def loaded(directory: Path, text: str, **env: str) -> CollectorSettings:
    file = directory / "penstock.yaml"
    file.write_text(text)
    return collector_settings(load_settings(file, env=env))


def problems(directory: Path, text: str) -> dict[str, str]:
    """Loads settings and topics, and gives each problem by its line."""
    file = directory / "penstock.yaml"
    file.write_text(text)
    settings = load_settings(file, env={})
    with pytest.raises(ConfigError) as caught:
        load_topics(collector_settings(settings), settings.place)
    return {problem.place.removeprefix(f"{file}:"): str(problem) for problem in caught.value.problems}


def test_without_settings_product_events_are_taken_from_this_machine_only(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "")
    assert settings.host == "127.0.0.1"
    assert list(load_topics(settings)) == ["events"]
    assert not settings.is_open


def test_sizes_and_times_are_written_as_people_write_them(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "collector: {max_body: 1 MiB, buffer: 8MB, answer_within: 500ms, window: 1h}")
    assert (settings.max_body, settings.buffer) == (1024 * 1024, 8_000_000)
    assert (settings.answer_within, settings.window) == (0.5, 3600)


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path, "collector: {workers: 2}", PENSTOCK_COLLECTOR_WORKERS="3", PENSTOCK_COLLECTOR_WINDOW="5m"
    )
    assert (settings.workers, settings.window) == (3, 300)


def test_every_problem_is_listed_with_its_line(tmp_path: Path) -> None:
    text = """collector:
  workrs: 2
  max_body: lots
  topics:
    events:
      schema: event.avsc
      kye: User_ID
  keys:
    - name: web
"""
    found = problems(tmp_path, text)
    assert set(found) == {"2", "3", "7", "9"}
    assert "did you mean workers?" in found["2"]
    assert "did you mean key?" in found["7"]
    assert "either secret or sha256" in found["9"]


def test_every_problem_with_schemas_is_listed_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "broken.avsc").write_text('{"type": "record"')
    (tmp_path / "text.avsc").write_text('"string"')
    fields = '{"name": "a", "type": {"type": "array", "items": "int"}}, {"name": "n", "type": "int"}'
    (tmp_path / "good.avsc").write_text(f'{{"type": "record", "name": "R", "fields": [{fields}]}}')
    text = f"""collector:
  topic: absent
  topics:
    absent: {{schema: {tmp_path}/absent.avsc}}
    broken: {{schema: {tmp_path}/broken.avsc}}
    text: {{schema: {tmp_path}/text.avsc}}
    unknown: {{schema: {tmp_path}/good.avsc, key: User_ID}}
    rich: {{schema: {tmp_path}/good.avsc, key: a}}
    number: {{schema: {tmp_path}/good.avsc, time: n}}
"""
    found = problems(tmp_path, text)
    assert set(found) == {"4", "5", "6", "7", "8", "9"}
    assert "cannot be read" in found["4"]
    assert "must be a record" in found["6"]
    assert "User_ID is not a field of R: a, n" in found["7"]
    assert "n must be a string" in found["9"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("collector: {topic: clicks}", "clicks, which is not among topics"),
        ("collector: {dead_letters: events}", "takes events itself"),
        ("collector: {keys: [{name: a, secret: x, topics: [clicks]}]}", "clicks, which is not among topics"),
        ("collector: {keys: [{name: a, secret: x}, {name: a, secret: y}]}", "the same name"),
        ("collector: {keys: [{name: a, secret: ''}]}", "secret is empty"),
        ("collector: {keys: [{name: a, sha256: abc}]}", "sha256"),
        ("collector: {topics: {'a/b': {schema: x}}}", "a/b"),
        ("collector: {buffer: 1 MiB}", "raise buffer or lower max_body"),
        ("collector: {buffer: 1 MiB, max_body: 2 MiB}", "too small for a body of max_body (2,097,152)"),
        ("collector: {window: 299}", "raise window or lower give_up_after, or a repeated id is sent twice"),
        ("collector: {give_up_after: 1h}", "window is 600 s"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("collector: {host: 0.0.0.0}", True),
        ("collector: {host: '::'}", True),
        ("collector: {host: localhost}", False),
        ("collector: {host: '::1'}", False),
        ("collector: {host: 0.0.0.0, keys: [{name: a, secret: x}]}", False),
    ],
)
def test_a_collector_is_open_if_strangers_reach_it_and_need_no_key(tmp_path: Path, text: str, is_open: bool) -> None:
    assert loaded(tmp_path, text).is_open == is_open


def test_a_secret_is_not_in_the_settings_text(tmp_path: Path) -> None:
    assert "hunter2" not in repr(loaded(tmp_path, "collector: {keys: [{name: a, secret: hunter2}]}"))
