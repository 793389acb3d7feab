from __future__ import annotations

from pathlib import Path

from penstock.config import PassThrough, Settings
from penstock.config.yaml_file import read_yaml
from penstock.pipelines.pipeline import read_pipelines
from penstock.pipelines.submit_line import Submission

PIPELINE = """
name: events
source: {type: kafka, config: {topic: events, format: raw}}
sinks: [{type: console}]
spark: {conf: {spark.hadoop.my.token: sesame-1}}
"""


def test_secrets_of_a_cluster_are_kept_off_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "events.yaml").write_text(PIPELINE)
    pipelines = read_pipelines([read_yaml(tmp_path / "events.yaml", {})])
    settings = Settings(s3=PassThrough({"secret.key": "sesame-2", "endpoint": "http://s3:9000"}))
    environment = {"PENSTOCK_KAFKA_SASL_PASSWORD": "sesame-3", "PENSTOCK_BOOTSTRAP": "kafka:9092"}
    text = "\n".join(Submission(pipelines, settings, environment, [Path("/jars/a.jar")], "yarn").lines())
    file, _, line = text.partition("spark-submit")
    assert "sesame" not in text
    assert "--properties-file events.properties" in line
    assert "********" not in line
    assert "spark.yarn.appMasterEnv.PENSTOCK_BOOTSTRAP=kafka:9092" in line
    assert "spark.hadoop.fs.s3a.endpoint=http://s3:9000" in line
    assert "umask 077" in file
    for secret in ("my.token", "fs.s3a.secret.key"):
        assert f"spark.hadoop.{secret}=********" in file
    assert "spark.yarn.appMasterEnv.PENSTOCK_KAFKA_SASL_PASSWORD=********" in file
