from pathlib import Path

import pytest

from penstock.config import PassThrough, load_settings
from penstock.config.settings import shown_settings
from penstock.errors import ConfigError


def written(directory: Path, text: str) -> Path:
    file = directory / "penstock.yaml"
    file.write_text(text)
    return file


def test_without_file_and_environment_the_local_stack_is_meant() -> None:
    settings = load_settings(env={}).settings
    assert settings.bootstrap == "localhost:9092"
    assert settings.registry == "http://localhost:8081"


def test_the_environment_wins_over_the_file_and_an_option_over_both(tmp_path: Path) -> None:
    file = written(tmp_path, "bootstrap: file:1\nregistry: http://file\nlake: from-file\n")
    env = {"PENSTOCK_BOOTSTRAP": "env:1", "PENSTOCK_REGISTRY": "http://env"}
    loaded = load_settings(file, env=env, options={"bootstrap": "option:1"})
    assert loaded.settings.bootstrap == "option:1"
    assert loaded.settings.registry == "http://env"
    assert loaded.settings.lake == "from-file"
    assert loaded.sources["bootstrap"] == "--bootstrap"
    assert loaded.sources["registry"] == "PENSTOCK_REGISTRY"
    assert loaded.sources["lake"] == f"{file}:3"


def test_the_file_can_be_named_in_the_environment(tmp_path: Path) -> None:
    file = written(tmp_path, "bootstrap: file:1\n")
    assert load_settings(env={"PENSTOCK_SETTINGS": str(file)}).settings.bootstrap == "file:1"


def test_variables_in_the_file_are_filled_in(tmp_path: Path) -> None:
    file = written(tmp_path, "bootstrap: ${BROKER:-localhost:9092}\nlake: ${LAKE}\n")
    settings = load_settings(file, env={"LAKE": "s3a://events"}).settings
    assert settings.bootstrap == "localhost:9092"
    assert settings.lake == "s3a://events"


def test_a_variable_that_is_not_set_is_named_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, "registry: http://x\nlake: ${LAKE}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(file, env={})
    assert [problem.place for problem in caught.value.problems] == [f"{file}:2"]
    assert "LAKE" in caught.value.message


def test_a_variable_that_is_not_set_hides_no_other_mistake_and_has_no_consequences(tmp_path: Path) -> None:
    file = written(tmp_path, "timeout: ${TIMEOUT}\nlake: here\nbootstrp: x\nlake: there\nports: {kafka: 1, kafka: 2}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(file, env={})
    told = {(problem.place, problem.message) for problem in caught.value.problems}
    assert told == {
        (f"{file}:1", "timeout: the variable TIMEOUT is not set"),
        (f"{file}:3", "bootstrp is not a setting"),
        (f"{file}:4", "lake: it stands on line 2 already"),
        (f"{file}:5", "ports.kafka: it stands on line 5 already"),
    }


def test_what_is_merged_by_an_alias_does_not_stand_twice(tmp_path: Path) -> None:
    file = written(tmp_path, "kafka: &all {a: 1, b: 2}\ns3: {<<: *all, b: 3}\n")
    assert dict(load_settings(file, env={}).settings.s3) == {"a": 1, "b": 3}


def test_every_problem_is_listed_at_once_with_its_place(tmp_path: Path) -> None:
    file = written(tmp_path, "bootstrp: x\nports:\n  kafka: 99999\ntimeout: soon\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(file, env={"PENSTOCK_PORTS_REGISTRY": "abc"})
    by_place = {problem.place: problem for problem in caught.value.problems}
    assert set(by_place) == {f"{file}:1", f"{file}:3", f"{file}:4", "PENSTOCK_PORTS_REGISTRY"}
    assert by_place[f"{file}:1"].hint == "did you mean bootstrap?"


def test_a_file_that_is_not_yaml_is_told_by_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, "bootstrap: x\nkafka: [unclosed\n")
    with pytest.raises(ConfigError, match=r"penstock\.yaml:\d+: not YAML"):
        load_settings(file, env={})


def test_a_python_object_in_yaml_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "lake: !!python/object/apply:os.system ['true']\n")
    with pytest.raises(ConfigError):
        load_settings(file, env={})


@pytest.mark.parametrize(
    "text",
    [
        "lake: &a [*a]\n",
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{n}: &{n} [{', '.join([f'*{m}'] * 10)}]\n" for m, n in zip("abcdef", "bcdefg", strict=True)),
    ],
)
def test_aliases_that_grow_without_bound_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="aliases"):
        load_settings(written(tmp_path, text), env={})


def test_librdkafka_options_come_from_file_and_environment(tmp_path: Path) -> None:
    file = written(tmp_path, "kafka:\n  security.protocol: SASL_SSL\n")
    kafka = load_settings(file, env={"PENSTOCK_KAFKA_SASL_USERNAME": "app"}).settings.kafka
    assert dict(kafka) == {"security.protocol": "SASL_SSL", "sasl.username": "app"}


@pytest.mark.parametrize(
    "secret",
    [
        {"PENSTOCK_KAFKA_SASL_PASSWORD": "hunter2"},
        {"PENSTOCK_REGISTRY_PASSWORD": "hunter2"},
        {"PENSTOCK_REGISTRY_TOKEN": "hunter2"},
        {"PENSTOCK_DATABASE": "postgresql://me:hunter2@db/x"},
        {"PENSTOCK_REGISTRY": "http://me:hunter2@registry"},
    ],
)
def test_a_secret_is_never_shown(secret: dict[str, str]) -> None:
    loaded = load_settings(env=secret)
    assert "hunter2" not in repr(list(shown_settings(loaded)))


def test_options_handed_on_hide_their_secrets_in_text() -> None:
    options = PassThrough({"sasl.password": "hunter2", "ssl.key.location": "key.pem"})
    assert "hunter2" not in repr(options)
    assert "key.pem" in repr(options)
    assert options["sasl.password"] == "hunter2"


def test_a_rooms_own_section_is_kept_as_it_stands_and_every_value_in_it_has_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, "collector:\n  workers: 2\n  keys:\n    - name: web\n      secret: hunter2\n")
    loaded = load_settings(file, env={"PENSTOCK_COLLECTOR_WORKERS": "3"})
    assert dict(loaded.settings.collector) == {"workers": "3", "keys": [{"name": "web", "secret": "hunter2"}]}
    assert loaded.place(("collector", "keys", 0, "secret")) == f"{file}:5"
    assert loaded.place(("collector", "workers")) == "PENSTOCK_COLLECTOR_WORKERS"


def test_a_rooms_own_section_is_shown_value_by_value_without_its_secrets(tmp_path: Path) -> None:
    file = written(tmp_path, "collector:\n  keys:\n    - name: web\n      secret: hunter2\n")
    loaded = load_settings(file, env={})
    shown = {name: (value, source) for name, value, source in shown_settings(loaded)}
    assert shown["collector.keys.0.name"] == ("web", f"{file}:3")
    assert "hunter2" not in repr(shown)
    assert "hunter2" not in repr(loaded)
