"""The wheel with AMD's production code objects, as the toolchain downloaded it."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ckgen.build.amd.model import AmdToolchain
from ckgen.build.amd.toolchain import load
from ckgen.model.errors import UsageError

_WHEELS = "amd_aiter-*.whl"
_ROOT = "aiter_meta/hsa"
_END = ".co"


@dataclass(frozen=True, slots=True, order=True)
class KernelFile:
    """A code object: `path` below its arch's folder, without `.co`."""

    arch: str
    path: str

    @property
    def stem(self) -> str:
        """The file's own name."""
        return self.path.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.arch}/{self.path}"


class Wheel:
    """The code objects of one wheel."""

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path)

    def files(self, arch: str, folder: str = "", *, start: str = "") -> tuple[KernelFile, ...]:
        """The code objects of a folder of an arch whose names begin with `start`, by name."""
        place = f"{_ROOT}/{arch}/{folder}".rstrip("/") + "/"
        named = (name.removeprefix(place) for name in self._archive.namelist() if name.startswith(place))
        found = (name for name in named if name.endswith(_END) and "/" not in name and name.startswith(start))
        return tuple(sorted(KernelFile(arch, f"{folder}/{name}".lstrip("/").removesuffix(_END)) for name in found))

    def read(self, file: KernelFile) -> bytes:
        """A code object's bytes; UsageError if the wheel has none of that name."""
        try:
            return self._archive.read(f"{_ROOT}/{file.arch}/{file.path}{_END}")
        except KeyError:
            raise UsageError(f"the wheel has no code object {file}") from None


def wheel_path(toolchain: AmdToolchain) -> Path:
    """The wheel in the downloads of the toolchain; UsageError when it is gone."""
    downloads = toolchain.prefix / "downloads"
    wheels = sorted(downloads.glob(_WHEELS))
    if not wheels:
        raise UsageError(f"no {_WHEELS} in {downloads}: `ckgen toolchain amd` downloads it")
    return wheels[0]


@cache
def production_wheel(prefix: Path | None = None) -> Wheel:
    """The wheel of the toolchain in `prefix`, else of the default one; UsageError when it is gone."""
    return Wheel(wheel_path(load(prefix)))
