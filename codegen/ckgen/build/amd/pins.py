"""The packages of the pinned AMD toolchain: pins.json as data."""

from __future__ import annotations

from enum import Enum
from functools import cache
from pathlib import Path

from ckgen.build.packages.pin import Pin, read_pins


class Role(Enum):
    """What a package is for."""

    COMPILER = "compiler"
    RESOURCES = "resources"
    CK = "ck"
    DECODER = "decoder"
    OLDER_CK = "older-ck"


@cache
def pins() -> dict[Role, Pin]:
    """Every pinned package, in the order of the file."""
    return {Role(pin.role): pin for pin in read_pins(Path(__file__).with_name("pins.json"))}


def wanted(also: frozenset[Role] = frozenset()) -> tuple[Pin, ...]:
    """The packages that every toolchain has, and the optional ones of `also`."""
    return tuple(pin for role, pin in pins().items() if not pin.optional or role in also)
