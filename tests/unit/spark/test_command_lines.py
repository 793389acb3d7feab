"""No process of Spark shows a setting's value on its command line, which every user of the machine can read."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import UsageError
from penstock.spark.launch import read_by_launcher
from penstock.spark.session import session_options
from tests.command_lines import watched_command_lines

PROGRAM = """
import os, sys
from pathlib import Path
from penstock.config import Settings
from penstock.config.secrets import PassThrough
from penstock.local.java import spark_java_home
from penstock.spark.open_session import open_session
from penstock.spark.s3a import s3a_settings
from tests.spark_fixtures import spark_jars

marker = os.environ["MARKER"]
s3 = s3a_settings(Settings(s3=PassThrough({"secret.key": marker})).s3)
conf = {
    **{f"spark.hadoop.{name}": value for name, value in s3.items()},
    "spark.ssl.keyPassword": marker,
    "spark.odd.value": f"  #=:\\\\ü\\n{marker} ",
    "spark.driver.memory": "640m",
    "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -Dmy.password='{marker} \\\\ \\"x\\"'",
}
home = spark_java_home(Path(sys.argv[1]))
with open_session("marker", java_home=home, jars=spark_jars(), conf=conf, master="local[1]") as session:
    java = session._jvm.java.lang
    seen = session.sparkContext.getConf().get("spark.odd.value") == conf["spark.odd.value"]
    secret = session._jsc.hadoopConfiguration().get("fs.s3a.secret.key") == marker
    option = java.System.getProperty("my.password") == f'{marker} \\\\ "x"'
    memory = java.Runtime.getRuntime().maxMemory() < 700 << 20
    print(seen, secret, option, memory, session.range(3).count())
"""


def test_a_session_shows_none_of_its_options(tmp_path: Path) -> None:
    marker = secrets.token_hex(16)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "java")]
    env = {**os.environ, "MARKER": marker, "PYTHONPATH": str(Path.cwd()), "TMPDIR": str(scratch)}
    with watched_command_lines(marker) as shown:
        ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=110, check=False)
    assert ran.stdout.split() == ["True", "True", "True", "True", "3"], ran.stderr
    assert not shown
    assert not [file for file in scratch.rglob("*") if file.is_file() and marker in file.read_text(errors="replace")]


def test_the_files_of_a_launch_are_private_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with read_by_launcher({"spark.a": "1", "spark.driver.extraJavaOptions": "-Da=b -XX:+UseSerialGC"}) as arguments:
        directory = Path(arguments.split()[1]).parent
        assert directory.stat().st_mode & 0o777 == 0o700
        assert [file.stat().st_mode & 0o777 for file in directory.iterdir()] == [0o600, 0o600]
        assert "pyspark-shell" in arguments
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "option",
    [
        "-Dmy.password='a b'",
        "-Durl=jdbc:x://h/?password=hunter2",
        "-Durl=jdbc:sqlserver://h;user=u;password=hunter2",
        "-Dpass=hunter2",
        "-Dpgpass=hunter2",
    ],
)
def test_a_secret_among_the_java_options_of_executors_is_refused_on_a_cluster(option: str) -> None:
    conf = {"spark.executor.extraJavaOptions": f"-XX:+UseSerialGC {option}"}
    with pytest.raises(UsageError, match=r"every user of a worker's machine could read -D") as refused:
        session_options([], conf, "spark://host:7077")
    assert "hunter2" not in f"{refused.value} {refused.value.hint}"
    assert session_options([], conf, "local[*]")["spark.executor.extraJavaOptions"] == f"-XX:+UseSerialGC {option}"
