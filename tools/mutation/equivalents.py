"""Mutants that no test can notice, each with the reason, as `equivalents/*.json` list them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .mutant import Key, Room, Site

FOLDER = Path(__file__).parent / "equivalents"


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Why the mutant of a key computes what the source does; `becomes` is its line."""

    becomes: str
    reason: str


def load(room: str) -> dict[Key, Equivalent]:
    """What is listed for one room. Raises ValueError if a mutant is listed twice, KeyError if a part is missing."""
    path = FOLDER / f"{room}.json"
    listed: dict[Key, Equivalent] = {}
    for entry in json.loads(path.read_text(encoding="utf-8")) if path.exists() else ():
        key = Key(entry["file"], entry["operator"], entry["line"], entry["occurrence"])
        if key in listed:
            raise ValueError(f"{path}: listed twice: {key}")
        listed[key] = Equivalent(entry["becomes"], entry["reason"])
    return listed


def stale(room: Room, tree: Path, sites: Sequence[Site], listed: Mapping[Key, Equivalent]) -> list[Key]:
    """Keys that name no mutant of the room, or one that is now another change."""
    found = {site.key: site for site in sites}

    def holds(key: Key) -> bool:
        mutant = room.mutate(tree, found[key]) if key in found else None
        return mutant is not None and mutant.after == listed[key].becomes

    return [key for key in listed if not holds(key)]
