"""Runs our attention kernel over KV caches on the emulator and writes what came of it.

usage: run_fmha_decode.py [--kernel GLOB]... [--arch ARCH]... [--minutes N] [--again] [--out FOLDER]

Every instance of SETS: compiled, gated, its launches prepared by its own host unit, run checked on the problems of
ckgen_emulator/fmha/decode_cases.py, whole and in equal splits that are combined, each in two orders of waves and
workgroups. What FOLDER/fmha_decode.json has already is not run again unless --again asks for it; fmha_decode.md is
written from it. --minutes: no further kernel is begun after so many. Exit code 1 where a result is wrong, anything is
found, or the gate refuses a kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ckgen.families.fmha.device.hip_decode import decode_config
from ckgen.families.fmha.hip_config import ROWS, HipFmhaConfig, step_of
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.decode_cases import decode_cases
from ckgen_emulator.fmha.run import run_fmha
from kernel_records import compiled, problem, problems
from kernel_runs import parser_of, run_all

SCHEMA = "ckgen.fmha_decode/1"
ARCHS = ("gfx90a", "gfx942", "gfx950")
_USUAL, _ALL = ((64, 64), (128, 128)), ((64, 64), (128, 128), (192, 128), (256, 256))
SETS: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = (
    ("bf16_varlen_masked_lse_blocktable", _ALL),
    ("bf16_fp8_bf16_varlen_masked_lse_kvblockscale_pagelist_vectorized", _ALL),
    ("fp16_masked_softcap_lse_pagelist", _USUAL),
    ("fp16_fp8_fp16_varlen_masked_lse_kvblockscale_blocktable", _USUAL),
    ("bf16_varlen_masked_sink_lse_blocktable_vectorized", _USUAL),
    ("bf16_masked_lse", _USUAL),
    ("bf16_fp8_bf16_varlen_masked_sink_lse_pertensor", _USUAL),
    ("fp16_lse", ((128, 128),)),
)
"""Signatures, 8-bit types in the arch's flavour, and head dims of Q and V."""
SPLITS = (1, 2, 5)

HEAD = """# Our attention kernel over KV caches, executed on the emulator

Written by `tools/run_fmha_decode.py --out docs/amd/families`; `fmha_decode.json` has a line per kernel. Each is
compiled with the pinned toolchain, its launches prepared by its own host unit from `FmhaArgs`, run with all checks on
small problems (`emulator/ckgen_emulator/fmha/decode_cases.py`: unequal and empty sequences, heads that share K and V,
windows and sink tokens from both corners, shuffled pages of several sizes, last pages in part, NaN in all that must not
be read), whole and in 2 and 5 splits that are combined, and held against NumPy in double precision with a derived
bound. Nothing here ran on hardware.

*Gate*: `ok`, or the rules that the code object breaks. *Right*: problems whose every element is within its bound, of
all. *Findings*: what the emulator's checks found, and in how many problems.
"""


def main(arguments: list[str]) -> int:
    chosen = parser_of(__doc__ or "").parse_args(arguments)
    return run_all(chosen, "fmha_decode", SCHEMA, HEAD, instances(), run_instance)


def instances() -> Iterator[tuple[FmhaInstance, str]]:
    """Every instance of SETS, on each arch."""
    for words, hdims in SETS:
        for arch in ARCHS:
            flavour = load_archs()[arch].fp8_flavour
            if flavour is None and "fp8" in words:
                continue
            signature = parse_signature(f"fmha_{words}", flavour)
            for hdim_q, hdim_v in hdims:
                config = HipFmhaConfig(ROWS, step_of(signature.b.bits), hdim_q, hdim_v)
                yield make_instance(signature, config, (arch,)), arch


def run_instance(instance: FmhaInstance, arch: str) -> dict[str, Any]:
    """Compiles the instance and runs all of its problems."""
    result, kernel = build_kernel(instance, arch)
    runs: dict[str, Any] = {}
    for case in decode_cases(instance.signature, decode_config(instance)):
        for splits in SPLITS:
            orders = (run_fmha(kernel, case, Options(seed=seed), splits=splits) for seed in (0, 3))
            runs[f"{case} splits{splits}"] = problem(orders)
    return compiled(result) | {"runs": problems(runs)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
