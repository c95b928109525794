"""Kernels of gfx90a with scratch, which they address by a buffer that the launch gives."""

from __future__ import annotations

from memory_support import rules
from step_support import arguments, kernel, launch

from ckgen_emulator.bindings import Options, Run

ARCH = "gfx90a"
# s[0:3] the buffer, s[4:5] kernarg, s6, s7, s8 workgroup, s9 the wave's offset, as compilers ask for them.
BUFFER = ("user_sgpr_private_segment_buffer 1", "system_sgpr_private_segment_wavefront_offset 1")
# The same with s[6:7] for flat_scratch, then workgroup in s8, s9, s10 and the offset in s11.
WITH_FLAT = (*BUFFER, "user_sgpr_flat_scratch_init 1")
OWN = "s_add_u32 s0, s0, s9\ns_addc_u32 s1, s1, 0\n"
WAIT = "s_waitcnt vmcnt(0) lgkmcnt(0)\n"


def run(
    text: str,
    scratch: int,
    *,
    directives: tuple[str, ...] = BUFFER,
    grid: int = 1,
    block: int = 64,
    out: int = 0,
    options: Options | None = None,
) -> Run:
    """Runs the lines on gfx90a. `out`: the address in the kernel's arguments."""
    made = kernel(text, ARCH, scratch=scratch, directives=directives, lds=1024, vgprs=64)
    return launch(made, ARCH, [grid], block, arguments(out), options)


def said(result: Run, rule: str) -> str:
    """What the only finding says."""
    assert rules(result) == [rule]
    return result.findings[0].what
