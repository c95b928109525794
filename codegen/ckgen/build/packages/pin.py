"""One pinned package: name, version, file and sha256, from a file of pins."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pin:
    """One archive of the index; `unpack` names its files, or folders with a slash at the end.

    `kept`: the archive itself stays among the downloads, as builds take shipped code objects from it.
    """

    role: str
    name: str
    version: str
    file: str
    sha256: str
    unpack: tuple[str, ...]
    optional: bool
    kept: bool = False

    @property
    def folder(self) -> str:
        """Where it lies beneath the toolchain's prefix."""
        return f"{self.name}-{self.version}"

    @property
    def is_sdist(self) -> bool:
        """True of a source archive."""
        return self.file.endswith(".tar.gz")


def read_pins(file: Path) -> list[Pin]:
    """The packages of a file of pins, in its order."""
    return [
        Pin(
            role=entry["role"],
            name=entry["name"],
            version=entry["version"],
            file=entry["file"],
            sha256=entry["sha256"],
            unpack=tuple(entry["unpack"]),
            optional=entry.get("optional", False),
            kept=entry.get("kept", False),
        )
        for entry in json.loads(file.read_text(encoding="utf-8"))["packages"]
    ]
