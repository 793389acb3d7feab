"""The files of `penstock run`, by the command itself; events come from a file, so nothing needs Kafka."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.cli.run_files import kind_of
from penstock.config.yaml_file import read_yaml
from tests.conftest import Ran
from tests.unit.actions.test_events_of_a_file import file_of

GOOD = "name: good\naction: {type: hello_world}\n"
CONSUMER = "name: bad\nsource: {{config: {{connection: {{consumer_config: {{{}}}}}}}}}\naction: {{type: hello_world}}\n"
BAD = {
    "a module that is no Python": (
        "name: bad\naction: {type: 'no_python:Mine'}\n",
        "no_python:Mine cannot be imported",
    ),
    "a module that raises": ("name: bad\naction: {type: 'raises:Mine'}\n", "cannot be imported: KeyError: 'x'"),
    "a module that ends": ("name: bad\naction: {type: 'ends:Mine'}\n", "cannot be imported: SystemExit: 3"),
    "a keystore that is not there": (CONSUMER.format("ssl.keystore.location: absent.p12"), "absent.p12 cannot be read"),
    "tokens by no function": (CONSUMER.format("oauth_cb: 'json:nothing'"), "oauth_cb: json:nothing"),
    "a time that is none": (CONSUMER.format("max.poll.interval.ms: soon"), "max.poll.interval.ms: 'soon' is not"),
    "a registry that is none": (
        "name: bad\nsource: {config: {connection: {schema_registry_url: 'ftp://x'}}}\naction: {type: hello_world}\n",
        "ftp://x is not an http or https URL",
    ),
    "a word mistyped": ("name: bad\nacton: {type: hello_world}\n", "acton is not a setting (did you mean action?)"),
}
MODULES = {"no_python": "def (", "raises": "{}['x']", "ends": "raise SystemExit(3)"}

Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`penstock run` with these words."""
    monkeypatch.chdir(tmp_path)
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)

    def call(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["penstock", "run", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Ran(int(ended.value.code or 0), printed.out, printed.err)

    return call


def written(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


@pytest.mark.parametrize("mistake", BAD)
def test_a_file_with_a_mistake_is_told_by_check_and_stops_no_other(run: Run, tmp_path: Path, mistake: str) -> None:
    text, told = BAD[mistake]
    good, bad = written("good.yaml", GOOD), written("bad.yaml", text)
    checked = run(bad, good, "--check")
    assert (checked.code, told in checked.err) == (2, True), checked.err
    ran = run(bad, good, "--dry-run", "--events", file_of(tmp_path, 2))
    assert (ran.code, told in ran.err, ran.out.count("would get")) == (0, True, 2), ran.err
    alone = run(bad, "--check")
    assert (alone.code, told in alone.err) == (2, True), alone.err


def test_a_file_that_is_switched_off_need_not_say_what_it_is(run: Run) -> None:
    off = written("off.yaml", "enabled: false\nname: ${NOT_SET}\nnonsense: {}\n")
    assert run(off).code == 0
    ran = run(off, written("good.yaml", GOOD), "--check")
    assert (ran.code, "off.yaml says enabled: false" in ran.err) == (0, True)


def test_an_action_and_a_data_pipeline_need_two_commands(run: Run) -> None:
    ran = run(written("good.yaml", GOOD), written("data.yaml", "name: d\nsinks: []\n"), "--check")
    assert (ran.code, "data.yaml is a data pipeline" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ("action: {}", "action"),
        ("acton: {}", "action"),
        ("Action: {}", "action"),
        ("sinks: []", "data"),
        ("sniks: []\nsource: {}\noptions: {}\ntransforms: []", "data"),
    ],
)
def test_a_file_is_what_it_says_or_comes_closest_to(tmp_path: Path, keys: str, kind: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(keys)
    assert kind_of([read_yaml(path, {})]) == kind


def test_variables_that_are_not_set_and_keys_that_stand_twice_are_told_with_every_other_mistake(run: Run) -> None:
    text = """\
        name: bad
        source:
          config:
            topic_routes: {pe: "${TOPIC_NOT_SET}"}
            start: yesteryear
            commit: sync
            commit: async
        action: {type: "${TYPE_NOT_SET}"}
        options: {retry_count: -1, retry_count: -1}
        action: {type: hello_wrld}
        """
    ran = run(written("bad.yaml", "\n".join(line[8:] for line in text.splitlines())), "--check")
    told = [line.strip() for line in ran.err.splitlines() if "bad.yaml:" in line]
    assert [line.split(" (")[0].removeprefix("bad.yaml:") for line in told] == [
        "4: source.config.topic_routes.pe: the variable TOPIC_NOT_SET is not set",
        "5: source.config.start: 'yesteryear' is not a time",
        "7: source.config.commit: it stands on line 6 already",
        "9: options.retry_count: input should be greater than or equal to 0",
        "9: options.retry_count: it stands on line 9 already",
        "10: action.type: there is no action of type hello_wrld",
        "10: action: it stands on line 8 already",
    ]
