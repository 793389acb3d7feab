"""An object store for tests: the S3 server of the local stack by itself, which starts in a second or two."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from penstock.config import Settings, load_settings
from penstock.config.secrets import PassThrough
from penstock.lake.s3 import s3_access
from penstock.local.parts import s3
from penstock.local.ports import free_port_settings
from penstock.local.process import spawn
from penstock.local.site import StackOptions, survey

_START_SECONDS = 60


@pytest.fixture(scope="session")
def s3_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the store."""
    return tmp_path_factory.mktemp("s3")


@pytest.fixture(scope="session")
def s3_buckets(s3_data: Path) -> Path:
    """Where the store keeps its objects as files, by bucket and key."""
    return s3_data / "s3" / "buckets"


@pytest.fixture(scope="session")
def object_store(s3_data: Path) -> Iterator[PassThrough]:
    """The setting `s3` of a running store."""
    chosen = load_settings(env={}, options={"data": str(s3_data)}).settings
    site = survey(StackOptions(s3=True), chosen.model_copy(update={"ports": free_port_settings()}))
    site.jars.fetch(s3.FILES)
    (part,) = s3.parts(site)
    part.prepare()
    process = spawn(part)
    give_up = time.monotonic() + _START_SECONDS
    while not part.is_ready():
        assert process.poll() is None, part.log.read_text()
        assert time.monotonic() < give_up, "the store does not start"
        time.sleep(0.1)
    yield PassThrough({"endpoint": part.address, "access.key": s3.ACCESS_KEY, "secret.key": s3.SECRET_KEY})
    process.kill()
    process.wait()


@pytest.fixture
def s3_lake(object_store: PassThrough) -> Settings:
    """Settings of a lake in a new bucket."""
    bucket = f"lake-{uuid.uuid4().hex[:8]}"
    settings = load_settings(env={}, options={"lake": f"s3a://{bucket}/tables"}).settings
    access = s3_access(object_store)
    assert access.endpoint
    scheme, _, address = access.endpoint.partition("://")
    fs.S3FileSystem(
        access_key=access.access_key,
        secret_key=access.secret_key,
        region=access.region,
        scheme=scheme,
        endpoint_override=address,
        allow_bucket_creation=True,
    ).create_dir(bucket)
    return settings.model_copy(update={"s3": object_store})
