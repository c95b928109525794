"""The chip of an arch, and the instruction tables that its code is decoded with."""

from __future__ import annotations

from functools import cache

from ckgen.build.amd.toolchain import load
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Chip
from ckgen_emulator.isa import isa_text


def chip_of(arch: ArchSpec, cu_num: int) -> Chip:
    """The chip of an arch spec with so many compute units; the XCDs are those of the product that has as many."""
    xcds = next((sku.xcds for sku in arch.skus if sku.cu_num == cu_num), arch.xcds)
    return Chip(arch.name, cu_num, xcds, arch.lds_bytes)


@cache
def pinned_chip(arch: str, cu_num: int | None = None) -> tuple[Chip, str]:
    """The chip, of the default number of compute units unless told, and its table by the pinned toolchain."""
    decoder = load().decoder
    if decoder is None:
        raise UsageError("a ROCm has no instruction tables: `ckgen toolchain amd` prepares them")
    spec = load_archs()[arch]
    return chip_of(spec, cu_num or spec.default_cu_num), isa_text(decoder, arch)
