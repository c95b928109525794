"""Which rooms there are: their source, and which tests are their own."""

from __future__ import annotations

import json
from pathlib import Path

from .cpp_rooms import cpp_rooms
from .mutant import Room
from .python_room import PythonRoom

_PYTHON = Path(__file__).parent / "python_rooms.json"


def rooms() -> dict[str, Room]:
    """All rooms by name."""
    listed = json.loads(_PYTHON.read_text(encoding="utf-8"))
    python = {name: PythonRoom(name, entry["source"], entry["tests"]) for name, entry in listed.items()}
    return {**python, **{room.name: room for room in cpp_rooms()}}
