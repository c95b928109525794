"""The packages of the pinned toolchain: name, version, file and sha256, from pins.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path


class Role(Enum):
    """What a package is for."""

    COMPILER = "compiler"
    RESOURCES = "resources"
    CK = "ck"
    DECODER = "decoder"
    OLDER_CK = "older-ck"


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


@cache
def pins() -> dict[Role, Pin]:
    """Every pinned package, in the order of the file."""
    return {Role(pin.role): pin for pin in read_pins(Path(__file__).with_name("pins.json"))}


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


def wanted(also: frozenset[Role] = frozenset()) -> tuple[Pin, ...]:
    """The packages that every toolchain has, and the optional ones of `also`."""
    return tuple(pin for role, pin in pins().items() if not pin.optional or role in also)
