"""What the files of a job are called, whichever toolchain makes them."""

from __future__ import annotations

from pathlib import Path

ASSEMBLY = "unit.s"
CODE_OBJECT = "unit.code"
"""A linked code object or a cubin."""
SHIPPED_OBJECT = "shipped.code"
"""A code object that is taken as its vendor ships it."""
OBJECT = "unit.o"
DEPENDENCIES = "unit.d"


def code_objects(folder: Path) -> tuple[Path, ...]:
    """Those that the job of a device unit left in its folder: what is shipped, then what is compiled."""
    places = (folder / name for name in (SHIPPED_OBJECT, CODE_OBJECT))
    return tuple(place for place in places if place.is_file())
