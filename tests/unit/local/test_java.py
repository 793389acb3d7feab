from __future__ import annotations

import subprocess
from pathlib import Path

from penstock.local.java import complete_java, java_command, spark_java_home


def test_a_jar_and_a_main_class_are_run_each_in_their_way() -> None:
    assert java_command("a.jar", "x")[-3:] == ("-jar", "a.jar", "x")
    assert java_command("Main", classpath=[Path("a.jar"), Path("b.jar")])[-3:] == ("-cp", "a.jar:b.jar", "Main")


def test_spark_s_java_drops_the_one_module_that_is_missing_and_keeps_words_with_spaces(tmp_path: Path) -> None:
    java = spark_java_home(tmp_path / "home") / "bin" / "java"
    words = ["--add-modules=jdk.incubator.vector", "-Dgiven=two words", "-XshowSettings:properties", "-version"]

    ran = subprocess.run([java, *words], capture_output=True, text=True, check=True)

    assert "given = two words" in ran.stderr


def test_java_starts_from_an_archive_of_its_own_classes() -> None:
    complete_java()
    [java, *_] = java_command("a.jar")
    ran = subprocess.run([java, "-Xshare:on", "-version"], capture_output=True, text=True, check=True)
    assert "sharing" in ran.stderr
