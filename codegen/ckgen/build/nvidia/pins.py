"""The pinned packages of the NVIDIA toolchain: pins.json as data."""

from __future__ import annotations

from enum import Enum
from functools import cache
from pathlib import Path

from ckgen.build.packages.pin import Pin, read_pins


class Role(Enum):
    """What a package is for."""

    COMPILER = "compiler"
    OPTIMISER = "optimiser"
    HEADERS = "headers"
    RUNTIME_HEADERS = "runtime_headers"
    LIBRARY_HEADERS = "library_headers"
    DISASSEMBLER = "disassembler"
    CUTLASS = "cutlass"


BESIDE_CUDA = (Role.DISASSEMBLER, Role.CUTLASS)
"""What a CUDA on the machine need not bring."""


@cache
def pins() -> dict[Role, Pin]:
    """Every pinned package, in the order of the file."""
    return {Role(pin.role): pin for pin in read_pins(Path(__file__).with_name("pins.json"))}
