# ruff: noqa: INP001 - a script, not a package
"""Write `jars.lock` anew from the coordinates below: `python scripts/lock_jars.py`. Needs Maven; the product does not.

Maven finds what each part's jars need; the files themselves come through Ivy, as they will for every user.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from penstock.local import lock
from penstock.local.ivy import Source, retrieve
from penstock.local.jars import sha256_of
from penstock.local.lock import Coordinate, LockedFile, parse_coordinate

LOCK = Path(lock.__file__).with_name(lock.LOCK_FILE)
HEADER = "# parts organisation:name:version[:classifier]@extension sha256 bytes\n"
LOGGING = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4@jar"
KAFKA_BRINGS = ("org.apache.kafka", "org.slf4j", "com.github.luben", "org.lz4", "org.xerial.snappy")
SDK = "software.amazon.awssdk"


class Roots(NamedTuple):
    """What a part is made from: files with all that they need, files alone, and whose files are left out."""

    whole: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


PARTS = {
    "kafka": Roots(whole=("org.apache.kafka:kafka_2.13:4.3.1@jar", LOGGING)),
    "connect": Roots(
        whole=("org.apache.kafka:connect-runtime:4.3.1@jar", "org.apache.kafka:connect-json:4.3.1@jar", LOGGING)
    ),
    "converter": Roots(whole=("io.apicurio:apicurio-registry-utils-converter:2.6.13.Final@jar",), without=KAFKA_BRINGS),
    "debezium": Roots(alone=("io.debezium:debezium-connector-postgres:3.6.2.Final:plugin@tar.gz",)),
    "apicurio": Roots(alone=("io.apicurio:apicurio-registry-app:3.3.3:all@tar.gz",)),
    "s3": Roots(alone=("org.gaul:s3proxy:4.1.0:jar-with-dependencies@jar",)),
    "spark": Roots(
        alone=(
            "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1@jar",
            "org.apache.spark:spark-avro_2.13:4.1.1@jar",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0@jar",
            "org.apache.kafka:kafka-clients:3.9.1@jar",
            "org.apache.commons:commons-pool2:2.12.1@jar",
            "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0@jar",
        )
    ),
    "delta": Roots(alone=("io.delta:delta-spark_4.1_2.13:4.4.0@jar", "io.delta:delta-storage:4.4.0@jar")),
    "s3a": Roots(
        whole=tuple(f"{SDK}:{module}:2.29.52@jar" for module in ("s3", "s3-transfer-manager", "sts")),
        alone=("org.apache.hadoop:hadoop-aws:3.4.2@jar",),
        without=("org.slf4j",),
    ),
}


def main() -> None:
    """Find every file, download it, and write the lock."""
    parts: dict[Coordinate, set[str]] = defaultdict(set)
    for name, roots in PARTS.items():
        for coordinate in (*_with_needs(roots.whole), *map(parse_coordinate, roots.alone)):
            if coordinate.organisation not in roots.without:
                parts[coordinate].add(name)
    with tempfile.TemporaryDirectory() as directory:
        found = retrieve(list(parts), Path(directory), Source(), lambda _bytes: None)
        files = [_locked(found, coordinate, names) for coordinate, names in parts.items()]
    files.sort(key=lambda file: str(file.coordinate))
    LOCK.write_text(HEADER + "".join(f"{file}\n" for file in files), encoding="utf-8")


def _with_needs(roots: Iterable[str]) -> list[Coordinate]:
    """What these files need to run, found by Maven."""
    coordinates = [parse_coordinate(root) for root in roots]
    if not coordinates:
        return []
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "pom.xml").write_text(_pom(coordinates), encoding="utf-8")
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true"]
        subprocess.run(["mvn", "-B", "-q", *goal, "-DoutputDirectory=jars"], cwd=place, check=True)  # noqa: S607 - Maven is found by PATH
        return [_from_layout(jar.relative_to(place / "jars")) for jar in (place / "jars").rglob("*.jar")]


def _pom(coordinates: Iterable[Coordinate]) -> str:
    wanted = "".join(
        f"<dependency><groupId>{escape(each.organisation)}</groupId><artifactId>{escape(each.name)}</artifactId>"
        f"<version>{escape(each.version)}</version></dependency>"
        for each in coordinates
    )
    identity = "<modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>"
    return f"<project>{identity}<dependencies>{wanted}</dependencies></project>"


def _from_layout(path: Path) -> Coordinate:
    *organisation, name, version, file = path.parts
    classifier = file.removeprefix(f"{name}-{version}").removesuffix(".jar").removeprefix("-")
    return Coordinate(".".join(organisation), name, version, classifier)


def _locked(found: Path, coordinate: Coordinate, parts: set[str]) -> LockedFile:
    path = found / coordinate.organisation / coordinate.file_name
    return LockedFile(frozenset(parts), coordinate, sha256_of(path), path.stat().st_size)


if __name__ == "__main__":
    main()
