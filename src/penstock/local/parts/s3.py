"""S3-compatible object store, backed by plain files (`--s3`)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from penstock.local.files import write_properties
from penstock.local.java import java_command, small_jvm
from penstock.local.part import Part
from penstock.local.ports import listens
from penstock.local.site import Site, StackOptions

FILES: tuple[str, ...] = ("s3",)
VERSION = "4.1.0"
ACCESS_KEY = "penstock"
SECRET_KEY = "penstock-local"  # noqa: S105 - public on purpose: the store is on localhost, and clients require a key
BUCKET = "lake"
"""Bucket created at the first start."""


def wanted(options: StackOptions) -> bool:
    """Whether `--s3` is set."""
    return options.s3


def parts(site: Site) -> list[Part]:
    """Return the server."""
    port, home = site.settings.ports.s3, site.data / "s3"
    (jar,) = site.jars.classpath("s3")
    return [
        Part(
            name="s3",
            version=VERSION,
            address=f"http://localhost:{port}",
            ports={"ports.s3": port},
            command=java_command(str(jar), "--properties", str(home / "s3proxy.properties"), options=small_jvm(256)),
            log=site.log("s3"),
            prepare=partial(_prepare, home, port),
            is_ready=partial(listens, port),
        )
    ]


def _prepare(home: Path, port: int) -> None:
    """Write the server's settings and create the first bucket."""
    buckets = home / "buckets"
    (buckets / BUCKET).mkdir(parents=True, exist_ok=True)
    properties = {
        "s3proxy.endpoint": f"http://127.0.0.1:{port}",
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.identity": ACCESS_KEY,
        "s3proxy.credential": SECRET_KEY,
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": str(buckets),
    }
    write_properties(home / "s3proxy.properties", properties)
