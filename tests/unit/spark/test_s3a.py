"""What Hadoop is told of an object store, and what the local one tells of itself."""

from __future__ import annotations

from penstock.cli.stack_view import how_to_use_s3
from penstock.config import load_settings
from penstock.spark.s3a import s3a_settings


def test_a_store_that_is_not_amazons_is_asked_by_paths() -> None:
    assert s3a_settings({"endpoint": "http://localhost:9001"}) == {
        "fs.s3a.endpoint": "http://localhost:9001",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.endpoint.region": "us-east-1",
    }


def test_what_is_given_wins_and_amazon_is_left_alone() -> None:
    own = {"endpoint": "https://ceph.example.com", "path.style.access": "false", "endpoint.region": "eu"}
    assert s3a_settings(own) == {f"fs.s3a.{name}": value for name, value in own.items()}
    assert set(s3a_settings({"endpoint": "s3.eu-west-1.amazonaws.com"})) == {"fs.s3a.endpoint"}
    assert s3a_settings({}) == {}


def test_the_local_store_tells_what_settings_it_needs() -> None:
    words = " ".join(how_to_use_s3(9001)).replace("export ", "").split()
    settings = load_settings(env=dict(word.split("=", 1) for word in words)).settings
    assert settings.lake == "s3a://lake/tables"
    assert dict(settings.s3) == {
        "endpoint": "http://localhost:9001", "access.key": "penstock", "secret.key": "penstock-local"
    }  # fmt: skip
