"""Atomic unpacking of archives: the directory is complete or missing."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path

from penstock.errors import JarRefused


def unpack(archive: Path, directory: Path) -> None:
    """Unpack a tar archive as `directory`. Reject names that lead outside."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
        inside = Path(scratch, "inside")
        try:
            with tarfile.open(archive) as tar:
                for member in tar:
                    _unpack_member(tar, member, inside)
        except (tarfile.TarError, EOFError, zlib.error) as error:
            hint = "remove the file and start again"
            raise JarRefused(f"{archive} cannot be unpacked: {error}", hint=hint) from error
        inside.rename(directory)


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, directory: Path) -> None:
    """Write a file or directory. Skip links and devices, which no archive in the lock needs."""
    place = Path(os.path.normpath(directory / member.name))
    if not place.is_relative_to(directory):
        raise tarfile.TarError(f"{member.name} leads outside")
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
    elif member.isreg() and (content := tar.extractfile(member)):
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            shutil.copyfileobj(content, file)
