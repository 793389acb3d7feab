from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli import run_data
from penstock.cli.run_files import DataOptions, file_environment, kind_of, read_files
from penstock.config import Settings, load_settings
from penstock.config.yaml_file import read_yaml
from penstock.errors import ConfigError, UsageError
from penstock.pipelines.driver import spark_conf, spark_master
from penstock.pipelines.pipeline import Pipeline, read_pipeline, read_pipelines

EXAMPLE = Path(__file__).parents[3] / "examples" / "events" / "events.yaml"

GOOD = """\
name: orders
source:
  type: kafka
  config:
    topic: orders
    format: json
    schema: id BIGINT NOT NULL, name STRING
transform:
  - type: sql
    config: {query: SELECT * FROM source}
  - type: filter
    config: {condition: id > 0}
sinks:
  - type: kafka
    config: {topic: orders_avro}
  - type: lake
    config: {table: shop/orders}
options: {}
spark: {}
"""


def pipeline_of(directory: Path, text: str, name: str = "orders.yaml") -> Pipeline:
    file = directory / name
    file.write_text(text)
    return read_pipeline(read_yaml(file, {}))


def problems_of(directory: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        pipeline_of(directory, text)
    return [str(problem).removeprefix(f"{directory}/") for problem in refused.value.problems]


def test_the_example_is_read_word_for_word() -> None:
    pipeline = read_pipeline(read_yaml(EXAMPLE, {}))
    assert [sink.name for sink in pipeline.sinks] == ["kafka-events_avro", "lake-events"]
    assert [sink.trigger for sink in pipeline.sinks] == ["200 milliseconds", "10000 milliseconds"]
    assert pipeline.source.settings(Settings()).bootstrap == "localhost:9092"
    assert pipeline.spec.dead_letters == "events.dead"
    assert pipeline.jars(Settings()) == {"spark"}


def test_what_is_left_out_has_defaults(tmp_path: Path) -> None:
    pipeline = pipeline_of(tmp_path, GOOD)
    assert pipeline.spec.dead_letters == "orders.dead"
    assert pipeline.spec.options.failure_mode == "CONTINUE"
    assert pipeline.spec.spark.master == "local[*]"
    assert pipeline.source.start == "earliest"
    assert [sink.name for sink in pipeline.sinks] == ["kafka-orders_avro", "lake-shop.orders"]


TOPIC = "    topic: orders\n"
SINK = "  - type: kafka\n"
MISTAKES = [
    ("name: orders", "name: a b", "1: name: 'a b' is not a name: up to 100 letters"),
    ("name: orders\n", "", "1: name: field required"),
    (
        "source:\n  type: kafka",
        "source:\n  type: kafkka",
        "3: source.type: there is no source of type kafkka (did you mean kafka?)",
    ),
    (TOPIC, "    topik: orders\n", "5: source.config.topik is not a setting (did you mean topic?)"),
    (TOPIC, "", "4: source.config: give one of topic, topics and pattern"),
    (TOPIC, TOPIC + "    pattern: o.*\n", "4: source.config: give one of topic, topics and pattern"),
    (TOPIC, "    pattern: 'o('\n", "5: source.config.pattern: 'o(' is not a regular expression"),
    ("format: json", "format: jsn", "6: source.config.format: there is no format jsn; did you mean json?"),
    ("format: json", "format: raw", "4: source.config: format raw takes no schema"),
    ("    schema: id BIGINT NOT NULL, name STRING\n", "", "4: source.config: format json needs a schema"),
    ("id BIGINT NOT NULL, name STRING", "absent.avsc", "7: source.config.schema: "),
    (TOPIC, TOPIC + "    start: yesterday\n", "6: source.config.start: 'yesterday' is not a time"),
    (TOPIC, TOPIC + "    max_records: 0\n", "6: source.config.max_records: input should be greater than or equal to 1"),
    (
        TOPIC,
        TOPIC + "    on_data_loss: ignore\n",
        "6: source.config.on_data_loss: input should be 'stop' or 'continue'",
    ),
    (
        TOPIC,
        TOPIC + "    options: {startingOffsets: earliest}\n",
        "6: source.config.options: startingOffsets is set by Penstock",
    ),
    (
        TOPIC,
        TOPIC + "    connection: {consumer_config: {group.id: mine}}\n",
        "6: source.config.connection: consumer_config has group.id",
    ),
    (
        TOPIC,
        TOPIC + "    connection: {bootstrp: x}\n",
        "6: source.config.connection.bootstrp is not a setting (did you mean bootstrap?)",
    ),
    (
        "type: filter",
        "type: fliter",
        "11: transform.1.type: there is no transform of type fliter (did you mean filter?)",
    ),
    (
        "{query: SELECT * FROM source}",
        "{qurey: SELECT 1}",
        "10: transform.0.config.qurey is not a setting (did you mean query?)",
    ),
    (
        "{query: SELECT * FROM source}",
        "{query: ''}",
        "10: transform.0.config.query: string should have at least 1 character",
    ),
    (
        "  - type: lake\n    config: {table: shop/orders}\n",
        "  - lake\n",
        "16: sinks.1: input should be a valid dictionary",
    ),
    (
        "{table: shop/orders}",
        "{table: shop/orders, format: orc}",
        "17: sinks.1.config.format: input should be 'parquet' or 'delta'",
    ),
    (
        "{table: shop/orders}",
        "{table: shop/orders, file_size: huge}",
        "17: sinks.1.config.file_size: 'huge' is not a size",
    ),
    *(
        (
            "{table: shop/orders}",
            f"{{table: shop/orders, mode: {mode}, partition_by: [id]}}",
            f"17: sinks.1.config.partition_by: mode {mode} makes no folders",
        )
        for mode in ("log", "mirror", "history")
    ),
    (
        "{topic: orders_avro}",
        "{topic: orders_avro, partitions: 0}",
        "15: sinks.0.config.partitions: input should be greater than",
    ),
    ("{topic: orders_avro}", "{topic: orders}", "15: sinks.0.config.topic: the source reads this topic"),
    ("{topic: orders_avro}", "{topic: orders.dead}", "15: sinks.0.config.topic: it takes the dead letters"),
    (SINK, SINK + "    trigger: soon\n", "15: sinks.0.trigger: 'soon' is neither an interval"),
    (SINK, SINK + "    name: lake-shop.orders\n", "15: sinks.0.name: two sinks are called lake-shop.orders"),
    (
        "options: {}",
        "options: {failure_mode: IGNORE}",
        "18: options.failure_mode: input should be 'CONTINUE' or 'THROW'",
    ),
    ("options: {}", "options: {dead_letters: orders}", "18: options.dead_letters: the source reads this topic"),
    ("spark: {}", "spark: {master: mesos://x}", "19: spark.master: 'mesos://x' is not a master of Spark: local"),
    ("spark: {}", "sparc: {}", "19: sparc is not a setting (did you mean spark?)"),
    *(
        (
            "table: shop/orders}",
            f"table: shop/orders, {options}}}",
            f"17: sinks.1.config.{options.rpartition(', ')[2].partition(':')[0]}: it has no effect {where}",
        )
        for options, where in [
            ("deletes: soft", "in mode append, only in mirror;"),
            ("remember_deletes: 3", "in mode append, only in mirror and history;"),
            ("mode: log, remember_deletes: 3", "in mode log, only in mirror and history;"),
            ("mode: history, deletes: hard", "in mode history, only in mirror;"),
            ("keep_versions: 2 days", "on plain Parquet, which has no versions;"),
            ("compact_every: 1 hour, keep_versions: 2 days", "on plain Parquet, which has no versions;"),
            ("format: delta, keep_versions: 2 days", "without compaction, which removes old versions;"),
            ("mode: mirror, compact_every: never, keep_versions: 2 days", "without compaction,"),
        ]
    ),
]


@pytest.mark.parametrize(("good", "wrong", "said"), MISTAKES, ids=[said for _, _, said in MISTAKES])
def test_a_mistake_is_told_with_its_line(tmp_path: Path, good: str, wrong: str, said: str) -> None:
    assert good in GOOD
    problems = problems_of(tmp_path, GOOD.replace(good, wrong, 1))
    assert any(problem.startswith(f"orders.yaml:{said}") for problem in problems), problems


def test_all_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    wrong = GOOD.replace("format: json", "format: jsn").replace("table:", "tabel:").replace("condition:", "kondition:")
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text(wrong)
    with pytest.raises(ConfigError) as refused:
        read_pipelines([read_yaml(tmp_path / name, {}) for name in ("one.yaml", "two.yaml")])
    places = [problem.place.removeprefix(f"{tmp_path}/") for problem in refused.value.problems]
    assert {"one.yaml:6", "one.yaml:12", "one.yaml:17", "two.yaml:6", "two.yaml:12", "two.yaml:17"} <= set(places)


def test_two_pipelines_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(GOOD)
    (tmp_path / "two.yaml").write_text(GOOD)
    with pytest.raises(ConfigError, match=r"two\.yaml:1: name: .*one\.yaml is called orders too"):
        read_pipelines([read_yaml(tmp_path / name, {}) for name in ("one.yaml", "two.yaml")])


def test_files_of_one_driver_agree_on_spark(tmp_path: Path) -> None:
    one = pipeline_of(tmp_path, GOOD.replace("spark: {}", "spark: {conf: {spark.a: 1}}"), "one.yaml")
    other = GOOD.replace("name: orders", "name: other").replace(
        "spark: {}", "spark: {master: yarn, conf: {spark.a: 2}}"
    )
    two = pipeline_of(tmp_path, other, "two.yaml")
    with pytest.raises(ConfigError, match=r"two\.yaml:19: spark\.master: .*one\.yaml says local"):
        spark_master([one, two])
    with pytest.raises(ConfigError, match=r"two\.yaml:19: spark\.conf\.spark\.a: .*one\.yaml has another value"):
        spark_conf([one, two], Settings())
    assert spark_conf([one], Settings()) == {"spark.a": 1}


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("1 second", "1000 milliseconds"),
        ("10 seconds", "10000 milliseconds"),
        ("2 minutes", "120000 milliseconds"),
        ("500 milliseconds", "500 milliseconds"),
        ("10s", "10000 milliseconds"),
        ("available_now", None),
    ],
)
def test_triggers_are_intervals_or_available_now(tmp_path: Path, text: str, interval: str | None) -> None:
    pipeline = pipeline_of(tmp_path, GOOD.replace("  - type: kafka\n", f"  - type: kafka\n    trigger: {text}\n"))
    assert pipeline.sinks[0].trigger == interval


def test_jars_are_those_of_the_sinks_and_their_places(tmp_path: Path) -> None:
    delta = GOOD.replace("{table: shop/orders}", "{table: t, format: delta, lake: s3a://bucket/lake}")
    assert pipeline_of(tmp_path, delta).jars(Settings()) == {"spark", "delta", "s3a"}


def test_a_pattern_matches_from_the_beginning_of_names(tmp_path: Path) -> None:
    text = GOOD.replace("    topic: orders\n", "    pattern: eu-|us-\n")
    source = pipeline_of(tmp_path, text).source
    assert [topic for topic in ("eu-1", "us-2", "more-eu-1") if source.reads(topic)] == ["eu-1", "us-2"]


def test_a_pattern_that_matches_what_the_pipeline_writes_is_refused(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, GOOD.replace("    topic: orders\n", "    pattern: orders.*\n"))
    assert [problem.partition(" (")[0] for problem in problems] == [
        "orders.yaml:15: sinks.0.config.topic: the source reads this topic",
        "orders.yaml:18: options.dead_letters: the source reads this topic",
    ]


def test_an_action_is_told_from_a_data_pipeline(tmp_path: Path) -> None:
    (tmp_path / "action.yaml").write_text("name: a\naction: {type: x}\n")
    (tmp_path / "data.yaml").write_text(GOOD)
    action, data = (read_yaml(tmp_path / name, {}) for name in ("action.yaml", "data.yaml"))
    assert kind_of([action, action]) == "action"
    assert kind_of([data]) == "data"
    with pytest.raises(UsageError, match=r"action\.yaml is an action, and .*data\.yaml is a data pipeline"):
        kind_of([data, action])


def test_files_that_cannot_be_read_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("name: [")
    with pytest.raises(ConfigError) as refused:
        read_files([tmp_path / "absent.yaml", tmp_path / "broken.yaml"], {})
    assert len(refused.value.problems) == 2


@pytest.mark.parametrize("options", [DataOptions(), DataOptions(check=True), DataOptions(print_submit="yarn")])
def test_files_that_are_no_yaml_and_variables_that_are_not_set_hide_no_other_mistake(
    tmp_path: Path, options: DataOptions
) -> None:
    wrong = GOOD.replace("topic: orders_avro", 'topic: "${TOPIC_NOT_SET}"').replace("condition:", "kondition:")
    texts = {"broken.yaml": "name: [", "bad.yaml": wrong, "other.yaml": GOOD.replace("options: {}", "optoins: {}")}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files, unreadable = read_files([tmp_path / name for name in texts], {})
    with pytest.raises(ConfigError) as refused:
        run_data.run(files, unreadable, options)
    told = [str(problem).removeprefix(f"{tmp_path}/").partition(" (")[0] for problem in refused.value.problems]
    assert told == [
        "broken.yaml:1: not YAML: expected the node content, but found '<stream end>'",
        "bad.yaml:12: transform.1.config.condition: field required",
        "bad.yaml:12: transform.1.config.kondition is not a setting",
        "bad.yaml:15: sinks.0.config.topic: the variable TOPIC_NOT_SET is not set",
        "other.yaml:18: optoins is not a setting",
    ]


def test_a_wrong_key_does_not_hide_that_a_pipeline_reads_what_it_writes(tmp_path: Path) -> None:
    text = GOOD.replace("    topic: orders\n", "    pattern: orders_.*\n").replace("query:", "qery:")
    assert [problem.partition(" (")[0] for problem in problems_of(tmp_path, text)] == [
        "orders.yaml:10: transform.0.config.qery is not a setting",
        "orders.yaml:10: transform.0.config.query: field required",
        "orders.yaml:15: sinks.0.config.topic: the source reads this topic",
    ]


def test_files_see_settings_by_the_name_of_their_variable() -> None:
    loaded = load_settings(env={"PENSTOCK_LAKE": "s3a://b/l"}, options={"bootstrap": "kafka:1"})
    environment = file_environment(loaded)
    assert environment["PENSTOCK_BOOTSTRAP"] == "kafka:1"
    assert environment["PENSTOCK_LAKE"] == "s3a://b/l"
    assert "PENSTOCK_REGISTRY" not in environment
