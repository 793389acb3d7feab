"""Runs what the documents show: files are written, `$` lines are run, and the lines below them must come out.

In a document:

- a fenced block after `<!-- file: NAME -->` is written to NAME,
- in a fenced `console` block each line after `$ ` is run by bash (lines after `> ` continue it), and the lines that
  follow must occur in its output, in order; `...` stands for any text in a line, and alone for any lines,
- `[exit code N]` as the last line says that the command ends so; otherwise it must end with 0.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n+)?```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
_EXIT = re.compile(r"\[exit code (\d+)\]")
_SECONDS = 300


@dataclass
class Command:
    """One `$` line and what the document says of it."""

    text: str
    expected: list[str] = field(default_factory=list)
    exit_code: int = 0


def run_document(document: Path, directory: Path, environment: Mapping[str, str]) -> int:
    """Do what a document says, in an empty directory; how many commands were run."""
    count = 0
    for match in _BLOCK.finditer(document.read_text(encoding="utf-8")):
        if match["file"]:
            (directory / match["file"]).write_text(match["body"], encoding="utf-8")
        elif match["kind"] == "console":
            for command in commands_in(match["body"]):
                _run(command, document, directory, environment)
                count += 1
    return count


def commands_in(block: str) -> Iterator[Command]:
    """The commands of one block, each with the output below it."""
    command: Command | None = None
    for line in block.splitlines():
        if line.startswith("$ "):
            if command:
                yield command
            command = Command(line[2:])
        elif command and line.startswith("> "):
            command.text += f"\n{line[2:]}"
        elif command and (code := _EXIT.fullmatch(line)):
            command.exit_code = int(code[1])
        elif command and line.strip():
            command.expected.append(line)
    if command:
        yield command


def _run(command: Command, document: Path, directory: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", command.text],  # noqa: S607 - documents are written for the user's own shell
        cwd=directory,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    shown = f"{document.name}: $ {command.text}\n{done.stdout}"
    assert done.returncode == command.exit_code, f"exit code {done.returncode}, not {command.exit_code}\n{shown}"
    missing = first_missing(command.expected, done.stdout)
    assert missing is None, f"the output lacks {missing!r}\n{shown}"


def first_missing(expected: list[str], output: str) -> str | None:
    """The first expected line that does not occur after those before it."""
    lines = iter([_squeezed(line) for line in output.splitlines()])
    for line in expected:
        if line.strip() == "...":
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in _squeezed(line).split("...")))
        if not any(pattern.fullmatch(found) for found in lines):
            return line
    return None


def _squeezed(line: str) -> str:
    return " ".join(line.split())
