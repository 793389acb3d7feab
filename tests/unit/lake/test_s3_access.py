from pathlib import Path

import pytest

from penstock.config import load_settings
from penstock.config.settings import shown_settings
from penstock.errors import ConfigError
from penstock.lake.s3 import S3Access, s3_access
from penstock.lake.store import open_store

ENVIRONMENT = {
    "PENSTOCK_LAKE": "s3a://bucket/tables/",
    "PENSTOCK_S3_ENDPOINT": "http://localhost:9001",
    "PENSTOCK_S3_ACCESS_KEY": "penstock",
    "PENSTOCK_S3_SECRET_KEY": "hunter2",
}


def test_variables_have_the_names_that_spark_has_for_them() -> None:
    settings = load_settings(env=ENVIRONMENT).settings
    assert s3_access(settings.s3) == S3Access("http://localhost:9001", "penstock", "hunter2")
    store = open_store(settings)
    assert (store.location, store.root, store.delta_uri) == (
        "s3a://bucket/tables",
        "bucket/tables",
        "s3://bucket/tables",
    )
    assert store.delta_options["AWS_ALLOW_HTTP"] == "true"


def test_the_secret_is_shown_nowhere() -> None:
    loaded = load_settings(env=ENVIRONMENT)
    store = open_store(loaded.settings)
    access = s3_access(loaded.settings.s3)
    assert "hunter2" not in f"{loaded.settings!r} {store!r} {access!r} {list(shown_settings(loaded))}"


@pytest.mark.parametrize(
    ("options", "endpoint"),
    [
        ({}, None),
        ({"endpoint": "minio:9000"}, "https://minio:9000"),
        ({"endpoint": "minio:9000", "connection.ssl.enabled": "false"}, "http://minio:9000"),
        ({"endpoint": "https://minio:9000", "connection.ssl.enabled": False}, "https://minio:9000"),
    ],
)
def test_an_address_without_a_scheme_is_secure_unless_told_otherwise(
    options: dict[str, object], endpoint: str | None
) -> None:
    assert s3_access(options).endpoint == endpoint


def test_places_that_only_spark_reads_are_told(tmp_path: Path) -> None:
    for place in ("hdfs://namenode/lake", "gs://bucket/lake"):
        with pytest.raises(ConfigError, match="cannot be read without Spark"):
            open_store(load_settings(env={"PENSTOCK_LAKE": place}).settings)
    assert open_store(load_settings(env={"PENSTOCK_LAKE": f"file:{tmp_path}"}).settings).root == str(tmp_path)
