"""Runs gradients of attention, ck_tile's and ours, on the emulator and writes what came of them.

usage: run_fmha_backward.py [--kernel GLOB]... [--drawn N] [--seeds N] [--again] [--record] [--out FOLDER]

Every kernel of KERNELS is compiled, gated, and chosen, planned and run with all its stages by the C++ dispatcher over
the emulator's HIP, on the problems of ckgen_emulator/fmha/backward.py and N more that are drawn (36), in the plain
order of waves and in those of seeds 1 to N (1). What FOLDER/fmha_bwd.json has already is not run again unless --again
asks for it; fmha_bwd.md is written from it. --record: instead, the spills and scratch there become what the gate
allows. Exit code 1 where a result is wrong or a kernel does not compile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ckgen.build.amd.toolchain import load
from ckgen.families.fmha.backward_config import CkTileBackwardConfig, HipBackwardConfig
from ckgen.families.fmha.grammar import parse_instance_name
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.registry import make_instance
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs
from ckgen_emulator.fmha.backward import backward_cases, drawn_backward
from ckgen_emulator.fmha.build import compile_units
from ckgen_emulator.fmha.dispatched import dispatched
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.runtime import build_runtime
from kernel_records import cells, compiled, found_in, gate_of, problems, read, right_of, write_table
from run_fmha_kernels import record_overflows

SCHEMA = "ckgen.fmha_kernels/1"
_IN_ONE = 25
"""Problems of a process."""
_MASKED = "fmha_bf16_bwd_masked_ck_tile_bwd_pad0_32x128x32x64_1_grouped"
_ELEMENTWISE = "fmha_bf16_bwd_masked_elementwise_ck_tile_bwd_pad0_32x128x32x64_1_grouped"
_CAPPED = "fmha_bf16_bwd_varlen_masked_softcap_sink_randval_hip_bwd_64x64x64"
_BIASED = "fmha_fp16_bwd_masked_elementwise_sink_dropout_hip_bwd_64x64x64"
KERNELS = (
    *((arch, _MASKED) for arch in ("gfx90a", "gfx942", "gfx950")),
    ("gfx942", "fmha_bf16_bwd_masked_ck_tile_bwd_pad0_16x128x32x128_1"),
    ("gfx942", "fmha_bf16_bwd_masked_ck_tile_bwd_pad0_32x128x64x32_2_grouped"),
    ("gfx942", "fmha_bf16_bwd_masked_ck_tile_bwd_pad0_32x128x64x32_2_grouped_ordered"),
    ("gfx942", "fmha_bf16_bwd_masked_ck_tile_bwd_pad8_32x128x32x96_2_grouped"),
    ("gfx942", "fmha_bf16_bwd_masked_ck_tile_bwd_pad0_16x64x32x256_1_grouped"),
    ("gfx942", "fmha_bf16_bwd_masked_ck_tile_bwd_pad8_16x64x32x256_1_grouped"),
    ("gfx942", "fmha_bf16_bwd_masked_alibi_ck_tile_bwd_pad8_16x128x32x128_1_grouped"),
    *((arch, _ELEMENTWISE) for arch in ("gfx90a", "gfx942", "gfx950")),
    ("gfx942", "fmha_fp16_bwd_varlen_elementwise_dropout_ck_tile_bwd_pad8_32x128x32x64_1_grouped"),
    ("gfx942", "fmha_fp32_bwd_masked_elementwise_ck_tile_bwd_pad1_16x64x16x64_1_grouped"),
    ("gfx942", "fmha_bf16_bwd_varlen_masked_ck_tile_bwd_pad8_16x128x32x128_1_grouped"),
    ("gfx942", "fmha_fp16_bwd_varlen_masked_ck_tile_bwd_pad8_32x128x32x64_1_grouped_ordered"),
    ("gfx942", "fmha_bf16_bwd_varlen_masked_dropout_ck_tile_bwd_pad1_32x128x32x64_1_grouped"),
    ("gfx942", "fmha_fp16_bwd_ck_tile_bwd_pad0_32x128x64x32_2_grouped"),
    ("gfx942", "fmha_fp16_bwd_varlen_masked_alibi_ck_tile_bwd_pad8_32x128x32x64_1"),
    ("gfx942", "fmha_fp32_bwd_masked_ck_tile_bwd_pad1_16x64x16x64_1_grouped"),
    *((arch, _CAPPED) for arch in ("gfx90a", "gfx942", "gfx950")),
    *((arch, _BIASED) for arch in ("gfx90a", "gfx942", "gfx950")),
    ("gfx942", "fmha_bf16_bwd_masked_hip_bwd_64x64x256"),
    ("gfx942", "fmha_bf16_bwd_elementwise_hip_bwd_64x64x128"),
    ("gfx942", "fmha_fp16_bwd_varlen_masked_softcap_dropout_hip_bwd_64x64x128"),
    ("gfx942", "fmha_fp32_bwd_varlen_masked_alibi_sink_randval_hip_bwd_64x64x128"),
    ("gfx942", "fmha_fp32_bwd_varlen_masked_elementwise_hip_bwd_64x64x128"),
)

HEAD = """# Gradients of attention, executed on the emulator

Written by `tools/run_fmha_backward.py --out docs/amd/families`; `fmha_bwd.json` has a line per kernel. Each is compiled
with the pinned toolchain; the C++ dispatcher chooses it, plans it and runs every stage of the plan, with all checks, on
small problems (`emulator/ckgen_emulator/fmha/backward.py`: tiles that are whole and not, heads that share K and V,
windows from both corners, unequal and empty sequences, head dims below the tile's, and drawn ones), each in two orders
of waves. dQ, dK, dV, the dbias of a bias and the dsink of sinks are held against NumPy in double precision with a
derived bound, and what does not count must not be written. `ck_tile` kernels are ck_tile's, `hip` ours, whose problems
also have sink tokens and elements of a bias that sequences, heads or rows share. Nothing here ran on hardware.

*Gate*: `ok`, or the rules that the code object breaks beyond what is recorded. *Right*: problems whose every element is
within its bound, of all. *Findings*: what the emulator's checks found, and in how many problems. `lds_race` is harmless
here: each of four waves writes the same lse and delta of a row to one place in LDS. `hazard`: clang overwrites the data
of a store after one wait state, where the ISA asks for two.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2].partition("\n\n")[0])
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--drawn", type=int, default=36)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    place = chosen.out / "fmha_bwd.json" if chosen.out else None
    known = read(place)["kernels"]
    if chosen.record:
        record_overflows(known)
        return 0
    bad = 0
    for arch, name in KERNELS:
        key = f"{arch}/{name}"
        if not any(fnmatchcase(name, glob) for glob in chosen.kernel or ["*"]) or (key in known and not chosen.again):
            continue
        known[key] = run_kernel(name, arch, chosen.drawn, chosen.seeds)
        bad += bool(known[key].get("failed") or known[key]["runs"]["wrong"])
        print(key, known[key], flush=True)
        if place:
            write_table(place, SCHEMA, HEAD, known, row)
    return 1 if bad else 0


def run_kernel(name: str, arch: str, drawn: int, seeds: int) -> dict[str, Any]:
    """Compiles the kernel and runs it through the dispatcher."""
    parsed = parse_instance_name(name)
    assert parsed is not None and isinstance(parsed[2], CkTileBackwardConfig | HipBackwardConfig), name
    signature, _, config = parsed
    instance: FmhaInstance = make_instance(signature, config, (arch,))
    try:
        record = compiled(compile_units(instance, arch).result)
    except UsageError as error:
        print(error, file=sys.stderr)
        return {"failed": True}
    context, runtime = default_context(load(), load_archs(), print, lambda standing: None, 1), build_runtime(print)
    cases = backward_cases(signature, config)
    cases = tuple(dict.fromkeys((*cases, *(drawn_backward(signature, config, seed) for seed in range(drawn)))))
    runs: dict[str, dict[str, Any]] = {}
    for seed in range(seeds + 1):
        for first in range(0, len(cases), _IN_ONE):
            some = cases[first : first + _IN_ONE]
            for case, found in zip(some, dispatched(instance, arch, some, runtime, context, seed=seed), strict=True):
                known = runs.setdefault(str(case), {"right": True, "findings": []})
                known["right"] = known["right"] and found.right
                known["findings"] = sorted({*known["findings"], *found.findings})
    return record | {"runs": problems(runs)}


def row(key: str, record: Mapping[str, Any]) -> str:
    arch, _, name = key.partition("/")
    if record.get("failed"):
        return f"| `{name}` | {arch} | | | | | does not compile | | |"
    runs = record["runs"]
    return cells(key, record["figures"], gate_of(record["gate"]), right_of(runs), found_in(runs["findings"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
