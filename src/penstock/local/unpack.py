"""Archives, unpacked so that their directory is there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path

from penstock.errors import JarRefused


def unpack(archive: Path, directory: Path) -> None:
    """Unpack a tar archive as `directory`; a name that leads outside is refused."""
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
    """Write one file or directory; links and devices are left out, since no archive of the lock needs them."""
    place = Path(os.path.normpath(directory / member.name))
    if not place.is_relative_to(directory):
        raise tarfile.TarError(f"{member.name} leads outside")
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
    elif member.isreg() and (content := tar.extractfile(member)):
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            shutil.copyfileobj(content, file)
