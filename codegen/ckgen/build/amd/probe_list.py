"""The probes as data: questions about a CK tree, each with the code that answers it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("probes")
BASES = ("ck_tile", "ck")
"""Each is a header and a list of probes in probes/."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One possible answer: it holds if the lines compile."""

    value: str
    code: tuple[str, ...]

    def unit(self) -> str:
        """The text of the unit; directives stand before namespace probe, the rest inside."""
        before = [line for line in self.code if line.startswith("#")]
        inside = [line for line in self.code if not line.startswith("#")]
        return "\n".join([*before, "namespace probe {", *inside, "}", ""])


@dataclass(frozen=True, slots=True)
class Probe:
    """A question; the first alternative that compiles is the answer, `otherwise` when none does."""

    id: str
    what: str
    base: str
    alternatives: tuple[Alternative, ...]
    otherwise: str


@cache
def probes() -> tuple[Probe, ...]:
    """All probes, in the order of the files."""
    return tuple(
        _probe(base, entry)
        for base in BASES
        for entry in json.loads((FOLDER / f"{base}.json").read_text(encoding="utf-8"))["probes"]
    )


@cache
def probes_id() -> str:
    """A digest of all that the probes say."""
    files = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def _probe(base: str, entry: Mapping[str, Any]) -> Probe:
    if "code" in entry:
        return Probe(entry["id"], entry["what"], base, (Alternative("yes", tuple(entry["code"])),), "no")
    found = tuple(Alternative(one["value"], tuple(one["code"])) for one in entry["alternatives"])
    otherwise = "no" if found[0].value == "yes" else "none"
    return Probe(entry["id"], entry["what"], base, found, otherwise)
