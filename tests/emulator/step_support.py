"""Instructions for the emulator from assembler text, and whole kernels from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import machine_code
import numpy as np
from numpy.typing import NDArray

from amd_support import amd_toolchain
from ckgen_emulator.assemble import assemble as assemble_lines
from ckgen_emulator.assemble import link
from ckgen_emulator.bindings import Chip, Emulator, Options, Run
from ckgen_emulator.isa import isa_text

CHIPS = {
    "gfx90a": Chip("gfx90a", 104, 1, 65536),
    "gfx942": Chip("gfx942", 304, 8, 65536),
    "gfx950": Chip("gfx950", 256, 8, 163840),
}

_KERNEL = """
.text
.globl k
.p2align 8
.type k,@function
k:
{body}
s_endpgm
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_sgpr_workgroup_id_z 1
  .amdhsa_system_vgpr_workitem_id 2
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {scratch}
  .amdhsa_kernarg_size {kernarg}
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_next_free_sgpr 96
  .amdhsa_accum_offset {accum}
{directives}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{arch}
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: {kernarg}
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: {max_workgroup}
{args}
...
.end_amdgpu_metadata
"""


def table(arch: str) -> str:
    """The opcode table of an arch."""
    decoder = amd_toolchain().decoder
    assert decoder is not None
    return isa_text(decoder, arch)


@cache
def emulator(arch: str) -> Emulator:
    """A chip of that arch, one per process; tests remove the memory that they add."""
    return Emulator(CHIPS[arch], table(arch))


@cache
def assemble(text: str, arch: str) -> bytes:
    """The machine code of assembler lines, as it is recorded: test_machine_code.py holds that against the assembler."""
    if (known := machine_code.recorded(arch).get(text)) is not None:
        return known
    made = assemble_lines(text.splitlines(), arch, amd_toolchain())
    assert isinstance(made, bytes), made
    machine_code.record(arch, text, made)
    return made


@cache
def kernel(
    body: str,
    arch: str,
    *,
    lds: int = 0,
    scratch: int = 0,
    kernarg: int = 64,
    vgprs: int = 256,
    max_workgroup: int = 1024,
    args: tuple[tuple[str, int, int], ...] = (),
    directives: tuple[str, ...] = (),
) -> bytes:
    """A code object whose kernel `k` runs the lines, then ends. s[0:1] kernarg, s2, s3, s4 workgroup, v0 work item.

    `args`: the metadata's `.value_kind`, `.offset` and `.size` of each. `directives`: more of the descriptor's, without
    the `.amdhsa_` that they begin with; what they ask for may move the scalars.
    """
    values = {
        "body": body,
        "arch": arch,
        "lds": lds,
        "scratch": scratch,
        "kernarg": kernarg,
        "vgprs": vgprs,
        "max_workgroup": max_workgroup,
        "directives": "\n".join(f"  .amdhsa_{one}" for one in directives),
    }
    listed = ", ".join(f"{{.value_kind: {kind}, .offset: {at}, .size: {size}}}" for kind, at, size in args)
    text = _KERNEL.format(accum=min(vgprs, 256) & ~3, args=f"    .args: [{listed}]" if args else "", **values)
    return link(text, arch, amd_toolchain())


def arguments(*values: int | NDArray[Any]) -> bytes:
    """Eight bytes per argument; an array stands for its address."""
    words = [value if isinstance(value, int) else value.ctypes.data for value in values]
    return np.array(words, np.uint64).tobytes()


def launch(code: bytes, arch: str, grid: Sequence[int], block: int, args: bytes, options: Options | None = None) -> Run:
    """Runs kernel `k` of a code object."""
    chip = emulator(arch)
    module = chip.load(code)
    try:
        return chip.launch(module, "k", [*grid, 1, 1][:3], [block, 1, 1], args, options or Options())
    finally:
        chip.unload(module)
