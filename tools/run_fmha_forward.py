"""Runs our attention kernel of any options on the emulator and writes what came of it.

usage: run_fmha_forward.py [--kernel GLOB]... [--arch ARCH]... [--drawn N] [--minutes N] [--again] [--out FOLDER]

Every instance of KERNELS: compiled, gated, its launches prepared by its own host unit, run checked on the problems of
ckgen_emulator/fmha/forward_cases.py and N more that are drawn (12), each in two orders of waves and workgroups. RDNA's
are compiled and gated only: the emulator has the instructions of CDNA. What FOLDER/fmha_forward.json has already is not
run again unless --again asks for it; fmha_forward.md is written from it. --minutes: no further kernel is begun after so
many. Exit code 1 where a result is wrong, anything is found, or the gate refuses a kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from ckgen.families.fmha.device.hip_forward import forward_config
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.rules.forward import TILE
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.forward_cases import drawn_forward, forward_cases
from ckgen_emulator.fmha.run import run_fmha
from ckgen_emulator.isa import executed_archs
from kernel_records import compiled, problem, problems
from kernel_runs import parser_of, run_all

SCHEMA = "ckgen.fmha_forward/1"
_CDNA, _RDNA, _FP8 = ("gfx90a", "gfx942", "gfx950"), ("gfx1100", "gfx1201"), ("gfx942", "gfx950")
KERNELS: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("bf16_fp8_bf16_varlen_masked_softcap_sink_lse_dropout_kvblockscale_pagelist_vectorized", 64, _FP8),
    ("fp16_masked_elementwise_sink_lse_dropout", 64, (*_CDNA, *_RDNA)),
    ("fp16_varlen_masked_elementwise_sink_lse_randval", 128, (*_CDNA, *_RDNA)),
    ("bf16_varlen_masked_softcap_lse_blocktable", 256, (*_CDNA, *_RDNA)),
    ("bf16_varlen_masked_sink_pagelist", 128, (*_CDNA, *_RDNA)),
    ("bf16_varlen_masked_alibi_blocktable_vectorized", 64, _CDNA),
    ("bf16_masked_softcap_lse_randval", 64, ("gfx942",)),
    ("bf16_vcolumn_masked", 128, (*_CDNA, *_RDNA)),
    ("bf16_varlen_vcolumn_lse", 64, ("gfx942",)),
    ("fp32_varlen_masked_alibi_lse_dropout", 64, (*_CDNA, *_RDNA)),
    ("fp32_lse", 256, ("gfx942",)),
    ("fp32_masked_alibi_lse_randval", 256, ("gfx90a", "gfx942", *_RDNA)),
    ("fp8_bf16_varlen_masked_sink_lse_blockscale", 64, _FP8),
    ("fp8_fp32_masked_lse_pertensor", 128, _FP8),
    ("fp8_masked_pertensor", 64, ("gfx942",)),
    ("bf16_fp8_bf16_masked_lse_blockscale", 64, ("gfx942",)),
    ("fp16_fp8_fp16_masked_lse_pertensor_blocktable", 256, (*_FP8, "gfx1201")),
)
"""Signatures, 8-bit types in the arch's flavour, the largest head, and archs."""

HEAD = """# Our attention kernel of any options, executed on the emulator

Written by `tools/run_fmha_forward.py --out docs/amd/families`; `fmha_forward.json` has a line per kernel. Each is
compiled with the pinned toolchain, its launches prepared by its own host unit from `FmhaArgs`, run with all checks on
small problems (`emulator/ckgen_emulator/fmha/forward_cases.py`: unequal and empty sequences, heads that share K and V,
odd heads, windows and sink tokens from both corners, shuffled pages of several sizes, splits that are combined, NaN in
all that must not be read, and drawn ones), each in two orders of waves and workgroups, and held against NumPy in double
precision with a derived bound. RDNA's are compiled and gated, and not executed. Nothing here ran on hardware.

*Gate*: `ok`, or the rules that the code object breaks. *Right*: problems whose every element is within its bound, of
all. *Findings*: what the emulator's checks found, and in how many problems.
"""


def main(arguments: list[str]) -> int:
    parser = parser_of(__doc__ or "")
    parser.add_argument("--drawn", type=int, default=12)
    chosen = parser.parse_args(arguments)
    run = partial(run_instance, drawn=chosen.drawn)
    return run_all(chosen, "fmha_forward", SCHEMA, HEAD, instances(), run)


def instances() -> Iterator[tuple[FmhaInstance, str]]:
    """Every instance of KERNELS, on each of its archs."""
    for words, hdim, archs in KERNELS:
        for arch in archs:
            signature = parse_signature(f"fmha_{words}", load_archs()[arch].fp8_flavour)
            yield make_instance(signature, HipForwardConfig(TILE, TILE, hdim), (arch,)), arch


def run_instance(instance: FmhaInstance, arch: str, drawn: int) -> dict[str, Any]:
    """Compiles the instance, and runs all of its problems where the emulator knows the arch."""
    result, kernel = build_kernel(instance, arch)
    if arch not in executed_archs():
        return compiled(result)
    signature, config = instance.signature, forward_config(instance)
    runs: dict[str, Any] = {}
    for case in (*forward_cases(signature, config), *(drawn_forward(signature, config, at) for at in range(drawn))):
        runs[f"{case} of {case.seed}"] = problem([run_fmha(kernel, case, Options(seed=seed)) for seed in (0, 3)])
    return compiled(result) | {"runs": problems(runs)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
