from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from penstock.errors import JarRefused, JarUnavailable
from penstock.local.ivy import Source, module_xml, proxy_options, settings_xml
from penstock.local.jars import JarCache
from penstock.local.lock import Coordinate, LockedFile
from penstock.local.unpack import unpack

CONTENT = b"the content of a jar"
SLF4J = Coordinate("org.slf4j", "slf4j-api", "1.7.36")


def locked(content: bytes = CONTENT, coordinate: Coordinate = SLF4J) -> LockedFile:
    return LockedFile(frozenset({"kafka"}), coordinate, hashlib.sha256(content).hexdigest(), len(content))


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def archive(path: Path, name: str, content: bytes = CONTENT) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return path


def test_a_file_with_the_wrong_hash_is_refused_by_name_and_does_not_enter_the_cache(tmp_path: Path) -> None:
    cache, file = JarCache(tmp_path, Source(), (locked(),)), locked()
    arrived = put(tmp_path / "incoming" / "finished" / "slf4j-api-1.7.36.jar", b"something else here!")

    with pytest.raises(JarRefused, match=r"org\.slf4j:slf4j-api:1\.7\.36@jar is not what the lock names"):
        cache._admit(arrived, file)

    assert not cache.path(file).exists()
    assert cache.missing(["kafka"]) == (file,)


def test_a_file_with_the_right_hash_enters_the_cache_and_is_missed_no_more(tmp_path: Path) -> None:
    cache, file = JarCache(tmp_path, Source(), (locked(),)), locked()

    cache._admit(put(tmp_path / "incoming" / "slf4j-api-1.7.36.jar", CONTENT), file)

    assert cache.missing(["kafka"]) == ()
    assert cache.classpath("kafka") == (tmp_path / "jars/org.slf4j/slf4j-api-1.7.36.jar",)


def test_a_file_that_was_cut_short_counts_as_missing(tmp_path: Path) -> None:
    cache, file = JarCache(tmp_path, Source(), (locked(),)), locked()
    put(cache.path(file), CONTENT[:-1])

    assert cache.missing(["kafka"]) == (file,)


def test_with_everything_there_nothing_is_asked_for(tmp_path: Path) -> None:
    no_such_settings = Source(ivy_settings=tmp_path / "nowhere.xml")
    cache = JarCache(tmp_path, no_such_settings, (locked(),))
    put(cache.path(locked()), CONTENT)

    cache.fetch(["kafka"])


def test_a_file_that_changed_in_the_cache_is_found_once_for_each_version_of_the_lock(tmp_path: Path) -> None:
    first, later = locked(), locked(coordinate=Coordinate("org.slf4j", "slf4j-simple", "1.7.36"))
    away = Source(mirror=(tmp_path / "no-mirror").as_uri())
    put(JarCache(tmp_path, away, (first,)).path(first), CONTENT)
    JarCache(tmp_path, away, (first,)).fetch(["kafka"])
    damaged = put(JarCache(tmp_path, away, (first,)).path(first), CONTENT[::-1])
    JarCache(tmp_path, away, (first,)).fetch(["kafka"])
    assert damaged.exists(), "compared once"

    put(JarCache(tmp_path, away, (first, later)).path(later), CONTENT)
    with pytest.raises(JarUnavailable):
        JarCache(tmp_path, away, (first, later)).fetch(["kafka"])
    assert not damaged.exists()


def test_a_cache_that_cannot_be_written_to_serves_all_the_same(tmp_path: Path) -> None:
    cache = JarCache(tmp_path, Source(), (locked(),))
    put(cache.path(locked()), CONTENT)
    put(tmp_path / "checked", b"a file where the directory should be")
    cache.fetch(["kafka"])


def test_an_archive_is_unpacked_once_and_whole(tmp_path: Path) -> None:
    unpack(archive(tmp_path / "a.tar.gz", "lib/a.txt"), tmp_path / "unpacked" / "a")

    assert (tmp_path / "unpacked/a/lib/a.txt").read_bytes() == CONTENT
    assert [entry.name for entry in (tmp_path / "unpacked").iterdir()] == ["a"]


@pytest.mark.parametrize("name", ["../outside.txt", "lib/../../outside.txt"])
def test_an_archive_that_leads_outside_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(JarRefused, match="cannot be unpacked"):
        unpack(archive(tmp_path / "a.tar.gz", name), tmp_path / "unpacked" / "a")

    assert list((tmp_path / "unpacked").iterdir()) == []
    assert not (tmp_path / "outside.txt").exists()


def test_ivy_is_asked_for_exactly_the_files_of_the_lock_in_every_version() -> None:
    other = Coordinate("io.apicurio", "apicurio-registry-app", "3.3.3", "all", "tar.gz")

    text = module_xml([SLF4J, other])

    assert text.count("transitive='false'") == 2
    assert 'm:classifier="all"' in text
    assert '<conflict manager="all"/>' in text


def test_no_host_is_named_unless_the_user_names_a_mirror() -> None:
    assert "://" not in settings_xml(Source())
    assert 'root="https://mirror.example/maven"' in settings_xml(Source(mirror="https://mirror.example/maven"))


def test_a_proxy_becomes_options_of_the_jvm() -> None:
    assert proxy_options(None) == ()
    assert "-Dhttps.proxyHost=proxy.example" in proxy_options("http://proxy.example:3128")
    assert "-Dhttp.proxyPort=3128" in proxy_options("proxy.example:3128")
