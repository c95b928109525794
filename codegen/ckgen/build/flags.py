"""Compile flags, from flags.json: data per (vendor, toolchain, backend, module, trait), part of a unit's identity."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

_ANY = "*"


class Trait(Enum):
    """DEVICE code for one arch, HOST units that prepare launches."""

    DEVICE = "device"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Flags:
    """`words` as the compiler takes them; `includes` are folders beneath dispatcher_cpp, searched in order."""

    words: tuple[str, ...]
    includes: tuple[str, ...]

    @property
    def id(self) -> str:
        """A short digest; figures of artefacts of unequal ids are not comparable."""
        return hashlib.sha256("\0".join(self.words).encode()).hexdigest()[:12]


@cache
def flags_of(vendor: str, toolchain: str, backend: str, module: str, trait: Trait) -> Flags:
    """The flags for a unit; `toolchain` is a kind of the vendor's, `module` empty where there is none."""
    data = json.loads(Path(__file__).with_name("flags.json").read_text(encoding="utf-8"))
    wanted = {"vendor": vendor, "toolchain": toolchain, "backend": backend, "module": module, "trait": trait.value}
    words: list[str] = []
    for rule in data["rules"]:
        if all(rule[key] in (_ANY, value) for key, value in wanted.items()):
            words += rule["flags"]
    includes = next(rule["folders"] for rule in data["includes"] if rule["backend"] in (_ANY, backend))
    return Flags(tuple(words), tuple(includes))
