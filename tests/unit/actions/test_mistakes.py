"""A file with a mistake in every part that a pipeline is made of: all are told at once, each with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.actions.loading import load_pipeline
from penstock.config.yaml_file import read_yaml
from penstock.errors import ConfigError

FILE = """\
name: wrong
source: {type: kafka}
filter:
  event_type: EntityChangeEvent_v1
  event:
    category: {regex: "("}
    version: {gt: [1]}
filters:
  - type: event_type
    config:
      filter:
        EntityChangeEvent_v1:
          event: {category: TAG}
  - type: evnt_type
transform:
  - type: set
    config: {field: {a: 1}}
  - type: map
    config:
      fields:
        good: upper(a)
        bad: upper(a
        unknown: uper(a)
  - type: filter
    config:
      event:
        a: {exists: perhaps}
  - type: renam
action:
  type: webhook
  config:
    url: ftp://example.org
    format: slak
    timeout: 0
    header: {a: b}
    text: "{{ 1 + }}"
options: {retry_count: 3}
"""

MISTAKES = [
    (6, "filter.event.category.regex: '(' is not a regular expression"),
    (7, "filter.event.version.gt: gt takes a number or text"),
    (13, "filters.0.config.filter.EntityChangeEvent_v1.event: must be a list of maps, not a map"),
    (14, "filters.1.type: there is no filter of type evnt_type"),
    (17, "transform.0.config.fields: field required"),
    (17, "transform.0.config.field is not a setting"),
    (22, "transform.1.config.fields.bad: 'upper(a' is not an expression"),
    (23, "transform.1.config.fields.unknown: 'uper(a)' calls no function of the language (did you mean upper?)"),
    (27, "transform.2.config.event.a.exists: exists takes true or false"),
    (28, "transform.3.type: there is no transformer of type renam"),
    (32, "action.config.url: not an http or https URL"),
    (33, "action.config.format: input should be 'json', 'slack' or 'teams'"),
    (34, "action.config.timeout: input should be greater than 0"),
    (35, "action.config.header is not a setting"),
    (36, "action.config.text: ' 1 + ' is not an expression"),
]


def test_every_mistake_of_every_part_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(FILE)
    with pytest.raises(ConfigError) as refused:
        load_pipeline(read_yaml(path, {}))
    told = [(int(problem.place.rpartition(":")[2]), problem.message) for problem in refused.value.problems]
    missing = [
        (line, start) for line, start in MISTAKES if not any(at == line and text.startswith(start) for at, text in told)
    ]
    assert not missing, told
    assert len(told) == len(MISTAKES)
    assert "did you mean headers?" in {problem.hint for problem in refused.value.problems}
