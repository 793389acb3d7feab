from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config import Settings
from penstock.config.secrets import PassThrough
from penstock.spark.client_options import java_client_options
from penstock.spark.kafka_source import whole_pattern
from penstock.spark.session import _utf8_names, session_options

JARS = [Path("/jars/delta-spark_4.1_2.13-4.4.0.jar"), Path("/jars/netty-common-4.1.115.Final.jar")]


def test_the_users_options_win() -> None:
    options = session_options([], {"spark.ui.enabled": True, "spark.driver.memory": "5g"}, "local[2]")
    assert options["spark.ui.enabled"] == "true"
    assert options["spark.driver.memory"] == "5g"


def test_nothing_in_the_text_of_sql_is_replaced_whatever_the_user_sets() -> None:
    assert session_options([], {}, "local[2]")["spark.sql.variable.substitute"] == "false"
    given = {"spark.sql.variable.substitute": True}
    assert session_options([], given, "spark://master:7077")["spark.sql.variable.substitute"] == "false"


def test_java_options_of_the_user_stand_beside_ours() -> None:
    options = session_options([], {"spark.driver.extraJavaOptions": "-Da=b"}, "local[2]")[
        "spark.driver.extraJavaOptions"
    ]
    assert options.endswith(" -Da=b")
    assert "log4j2.configurationFile" in options


@pytest.mark.parametrize(
    ("given", "master", "added"),
    [
        ("-Da=b", "local[2]", True),
        ("-XX:+UseZGC -Da=b", "local[2]", False),
        ("-XX:+UseStringDeduplication", "local[2]", True),
        ("-Da=b", "spark://master:7077", False),
    ],
)
def test_a_local_driver_collects_garbage_for_throughput_unless_told_otherwise(
    given: str, master: str, added: bool
) -> None:
    options = session_options([], {"spark.driver.extraJavaOptions": given}, master)["spark.driver.extraJavaOptions"]
    assert ("-XX:+UseParallelGC" in options) is added


def test_jars_that_spark_brings_itself_are_left_out() -> None:
    assert session_options(JARS, {}, "local[2]")["spark.driver.extraClassPath"] == str(JARS[0])


def test_jars_travel_to_a_cluster() -> None:
    options = session_options(JARS, {}, "spark://master:7077")
    assert options["spark.jars"] == str(JARS[0])
    assert "spark.driver.host" not in options


def test_delta_is_switched_on_where_its_jar_is_there() -> None:
    assert "spark.sql.extensions" in session_options(JARS, {}, "local[2]")
    assert "spark.sql.extensions" not in session_options([], {}, "local[2]")


def test_local_files_need_no_process_for_each_directory_where_their_jar_is_there() -> None:
    jars = [Path("/jars/hadoop-bare-naked-local-fs-0.1.0.jar")]
    assert "Bare" in session_options(jars, {}, "local[2]")["spark.hadoop.fs.file.impl"]
    assert "spark.hadoop.fs.file.impl" not in session_options([], {}, "local[2]")
    assert "spark.hadoop.fs.file.impl" not in session_options(jars, {}, "spark://master:7077")


def test_a_secured_cluster_is_described_as_the_java_client_wants_it() -> None:
    settings = Settings(
        bootstrap="kafka:9093",
        kafka=PassThrough(
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanisms": "SCRAM-SHA-512",
                "sasl.username": "app",
                "sasl.password": 'pass"word',
                "ssl.ca.location": "/etc/ca.pem",
                "queue.buffering.max.messages": 5,
            }
        ),
    )
    assert java_client_options(settings) == {
        "kafka.bootstrap.servers": "kafka:9093",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="app" password="pass\\"word";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "/etc/ca.pem",
    }


def test_a_clients_own_certificate_is_given_as_text(tmp_path: Path) -> None:
    (tmp_path / "cert").write_text("CERT")
    (tmp_path / "key").write_text("KEY")
    given = {"ssl.certificate.location": str(tmp_path / "cert"), "ssl.key.location": str(tmp_path / "key")}
    options = java_client_options(Settings(kafka=PassThrough(given)))
    assert (options["kafka.ssl.keystore.certificate.chain"], options["kafka.ssl.keystore.key"]) == ("CERT", "KEY")


def test_patterns_and_names_become_one_pattern_that_spares_internal_topics() -> None:
    assert whole_pattern(("^orders-", "a.b")) == r"(?!__)(?:(?:^orders-).*|a\.b)"


@pytest.mark.parametrize(
    ("environment", "added"),
    [
        ({}, {"LC_ALL": "C.UTF-8"}),
        ({"LC_ALL": "C", "LANG": "en_GB.UTF-8"}, {"LC_ALL": "C.UTF-8"}),
        ({"LANG": "en_GB.UTF-8"}, {}),
        ({"LC_CTYPE": "C.utf8"}, {}),
    ],
)
def test_java_names_files_in_utf8_whatever_the_locale(environment: dict[str, str], added: dict[str, str]) -> None:
    assert _utf8_names(environment) == added
