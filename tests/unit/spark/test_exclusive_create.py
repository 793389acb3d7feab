"""Stores that let two drivers create the same ledger entry are refused before anything is written."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from penstock.errors import UnsafeStore
from penstock.spark.exclusive_create import require_exclusive_create
from penstock.spark.files import LocalFiles
from penstock.spark.hadoop_files import HadoopFiles
from penstock.spark.lake.parquet_sink import ParquetSink
from penstock.spark.lake.table import LakeTable
from penstock.spark.s3a import s3a_settings


class ReplacingFiles(LocalFiles):
    """A store that ignores the condition."""

    def create(self, path: str, data: bytes) -> bool:
        self.write(path, data)
        return True


class LookingFiles(LocalFiles):
    """A store whose client looks for the file, and then writes it in another request."""

    def __init__(self) -> None:
        self._both = threading.Barrier(2)

    def create(self, path: str, data: bytes) -> bool:
        if self.read(path) is not None:
            return False
        if data != b"first":
            self._both.wait(10)
        self.write(path, data)
        return True


@pytest.mark.parametrize(("files", "why"), [(ReplacingFiles(), "replaces"), (LookingFiles(), "several writers")])
def test_a_store_that_creates_a_file_twice_is_refused(files: LocalFiles, why: str, tmp_path: Path) -> None:
    with pytest.raises(UnsafeStore, match=why):
        require_exclusive_create(files, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_creates_a_file_once_is_accepted(spark: SparkSession, tmp_path: Path) -> None:
    for files in (LocalFiles(), HadoopFiles(spark, f"file://{tmp_path}")):
        require_exclusive_create(files, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


class CarelessStore(BaseHTTPRequestHandler):
    """Accepts every object, whatever `If-None-Match` asks for, and has none."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, ETag='"0"')

    def do_HEAD(self) -> None:
        self._answer(404)

    def do_DELETE(self) -> None:
        self._answer(204)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, b"<DeleteResult/>")

    def do_GET(self) -> None:
        self._answer(200, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class UnableStore(CarelessStore):
    """Answers 501 to every header that it does not implement, as some stores do."""

    def do_PUT(self) -> None:
        if "If-None-Match" not in self.headers:
            super().do_PUT()
            return
        self.rfile.read(int(self.headers["Content-Length"]))
        code = b"<Error><Code>NotImplemented</Code><Message>A header is not implemented</Message></Error>"
        self._answer(501, code)


@pytest.fixture(params=[(CarelessStore, "replaces"), (UnableStore, "cannot create a file only if")])
def poor_store(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[tuple[str, str]]:
    """The address of a bucket in such a store, and the reason to refuse the store."""
    kind, why = request.param
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    conf, location = spark._jsc.hadoopConfiguration(), "s3a://careless/tables"
    endpoint = f"http://127.0.0.1:{server.server_port}"
    given = s3a_settings({"endpoint": endpoint, "access.key": "a", "secret.key": "b", "impl.disable.cache": "true"})
    for name, value in given.items():
        conf.set(name, str(value))
    yield location, why
    for name in given:
        conf.unset(name)
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.timeout(120)
def test_a_table_in_a_store_without_if_none_match_is_not_written(
    spark: SparkSession, poor_store: tuple[str, str]
) -> None:
    location, why = poor_store
    assert urlsplit(location).scheme == "s3a"
    sink = ParquetSink(spark, LakeTable(location, "orders"), "shop.lake")
    with pytest.raises(UnsafeStore, match=why):
        sink.landed()
