"""Tiny wheels and sdists, and pins for them: a folder of such archives is an index that pip can use offline."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from ckgen.build.amd.pins import Role
from ckgen.build.packages.pin import Pin

VERSION = "1.2"


def offline(monkeypatch: pytest.MonkeyPatch, index: Path) -> None:
    """Makes pip see the archives of that folder and nothing else."""
    index.mkdir(exist_ok=True)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")


def wheel(folder: Path, name: str, files: Mapping[str, str], *, unpack: tuple[str, ...], role: Role = Role.CK) -> Pin:
    """Writes a wheel and pins it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{VERSION}-py3-none-any.whl"
    info = f"{name}-{VERSION}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            entry = zipfile.ZipInfo(inner)
            entry.external_attr = (0o755 if inner.endswith("program") else 0o644) << 16
            archive.writestr(entry, text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return _pin(path, name, unpack, role)


def sdist(folder: Path, name: str, files: Mapping[str, str], *, unpack: tuple[str, ...]) -> Pin:
    """Writes an sdist and pins it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{VERSION}.tar.gz"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\n"
    with tarfile.open(path, "w:gz") as archive:
        for inner, text in {**files, "PKG-INFO": metadata}.items():
            entry = tarfile.TarInfo(f"{name}-{VERSION}/{inner}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return _pin(path, name, unpack, Role.OLDER_CK)


def _pin(path: Path, name: str, unpack: tuple[str, ...], role: Role) -> Pin:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Pin(role, name, VERSION, path.name, digest, unpack, optional=False)
