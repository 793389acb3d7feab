"""Downloads from Maven repositories with Apache Ivy, whose jar ships with PySpark."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies
from xml.sax.saxutils import quoteattr

from penstock.config import Settings
from penstock.errors import JarUnavailable
from penstock.local.files import installed
from penstock.local.java import java_command, trust_options
from penstock.local.lock import Coordinate
from penstock.local.process import guarded

_POLL_SECONDS = 0.2
_NAMED = 3
_PATTERN = "[organisation]/[artifact]-[revision](-[classifier]).[ext]"
_MISSING = re.compile(r"^\s*:: (\S+#\S+;\S+?):? (?:not found|.*)$|\[NOT FOUND\s*\] (\S+)", re.MULTILINE)
_REASON = re.compile(r"Exception: ([^)\n]+)|\b(Host \S+ not found)")
_SETTINGS = """<ivysettings>
  <property name="ivy.checksums" value=""/>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true" usepoms="false"{root}/></resolvers>
</ivysettings>
"""
_MODULE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="penstock" module="jars"/>
  <dependencies>
{dependencies}
    <conflict manager="all"/>
  </dependencies>
</ivy-module>
"""
_DEPENDENCY = (
    "    <dependency org={org} name={name} rev={rev} transitive='false'>"
    "<artifact name={name} type={ext} ext={ext}{classifier}/></dependency>"
)

OnBytes = Callable[[int], None]


@dataclass(frozen=True)
class Source:
    """Download source: Maven Central, a mirror, or the user's Ivy settings; optionally through a proxy."""

    ivy_settings: Path | None = None
    mirror: str | None = None
    proxy: str | None = None


def source_of(settings: Settings) -> Source:
    """Return the source from the settings. Without a configured proxy, use the environment's proxy."""
    return Source(settings.ivy_settings, settings.mirror, settings.proxy or getproxies().get("https"))


def settings_xml(source: Source) -> str:
    """Return Ivy settings with one Maven resolver (default: Maven Central). The cache checks hashes instead of Ivy."""
    return _SETTINGS.format(root=f" root={quoteattr(source.mirror)}" if source.mirror else "")


def module_xml(coordinates: Iterable[Coordinate]) -> str:
    """Return an Ivy module for exactly these files, in every listed version."""
    return _MODULE.format(dependencies="\n".join(_dependency(item) for item in coordinates))


def _dependency(item: Coordinate) -> str:
    return _DEPENDENCY.format(
        org=quoteattr(item.organisation),
        name=quoteattr(item.name),
        rev=quoteattr(item.version),
        ext=quoteattr(item.extension),
        classifier=f" m:classifier={quoteattr(item.classifier)}" if item.classifier else "",
    )


def proxy_options(proxy: str | None) -> tuple[str, ...]:
    """Return the JVM options for a proxy given as `http://host:port`."""
    if not proxy:
        return ()
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return tuple(
        f"-D{scheme}.proxy{option}={value}"
        for scheme in ("http", "https")
        for option, value in (("Host", parts.hostname), ("Port", parts.port or 80))
    )


def retrieve(coordinates: Sequence[Coordinate], directory: Path, source: Source, on_bytes: OnBytes) -> Path:
    """Download files below `directory`. Return the folder with the files as `<organisation>/<file>`.

    After an interruption, finished downloads are not repeated.
    """
    if source.ivy_settings and not source.ivy_settings.is_file():
        raise JarUnavailable(f"ivy_settings: {source.ivy_settings} is no file", hint="correct it in the settings")
    directory.mkdir(parents=True, exist_ok=True)
    settings_file, module_file = directory / "settings.xml", directory / "ivy.xml"
    settings_file.write_text(settings_xml(source), encoding="utf-8")
    module_file.write_text(module_xml(coordinates), encoding="utf-8")
    output, finished = directory / "ivy.log", directory / "finished"
    command = java_command(
        str(_ivy_jar()),
        *("-settings", str(source.ivy_settings or settings_file), "-cache", str(directory / "cache")),
        *("-ivy", str(module_file), "-retrieve", f"{finished}/{_PATTERN}"),
        options=(*trust_options(), *proxy_options(source.proxy), "-Xmx256m", "-XX:TieredStopAtLevel=1"),
    )
    _run(command, output, lambda: on_bytes(_bytes_below(directory / "cache")))
    return finished


def _ivy_jar() -> Path:
    jars = sorted((installed("pyspark") / "jars").glob("ivy-*.jar"))
    if not jars:
        raise JarUnavailable("PySpark's package has no Ivy jar", hint="install penstock again")
    return jars[-1]


def _run(command: Sequence[str], output: Path, tick: Callable[[], None]) -> None:
    with output.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(guarded(command), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        while _still_runs(process):
            tick()
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise _unavailable(output)


def _still_runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _bytes_below(directory: Path) -> int:
    files = (*directory.rglob("*.jar*"), *directory.rglob("*.gz*"))
    return sum(_size(file) for file in files)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except FileNotFoundError:
        return 0


def _unavailable(output: Path) -> JarUnavailable:
    text = output.read_text(encoding="utf-8", errors="replace")
    names = sorted({match[0] or match[1] for match in _MISSING.findall(text)} - {""})
    what = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    reason = _REASON.search(text)
    why = f": {reason[1] or reason[2]}" if reason else ""
    return JarUnavailable(
        f"cannot download {what or 'what the local stack needs'}{why}",
        hint=f"name a reachable mirror, proxy or ivy_settings in penstock.yaml; Ivy's own words are in {output}",
    )
