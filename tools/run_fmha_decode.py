"""Runs our attention kernel over KV caches on the emulator and writes what came of it.

usage: run_fmha_decode.py [--kernel GLOB]... [--arch ARCH]... [--minutes N] [--again] [--out FOLDER]

Every instance of SETS: compiled, gated, its launches prepared by its own host unit, run checked on the problems of
ckgen_emulator/fmha/decode_cases.py, whole and in equal splits that are combined, each in two orders of waves and
workgroups. What FOLDER/fmha_decode.json has already is not run again unless --again asks for it; fmha_decode.md is
written from it. --minutes: no further kernel is begun after so many. Exit code 1 where a result is wrong, anything is
found, or the gate refuses a kernel.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ckgen.families.fmha.device.hip_decode import decode_config
from ckgen.families.fmha.hip_config import ROWS, HipFmhaConfig, step_of
from ckgen.families.fmha.instance import FmhaInstance, make_fmha_instance
from ckgen.families.fmha.signature import parse_signature
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.build import build_kernel
from ckgen_emulator.fmha.decode_cases import decode_cases
from ckgen_emulator.fmha.run import run_fmha
from fmha_records import cells, write

SCHEMA = "ckgen.fmha_decode/1"
ARCHS = ("gfx942", "gfx950")
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

Written by `tools/run_fmha_decode.py --out docs/amd/families`; `fmha_decode.json` has every run. Each kernel is compiled
with the pinned toolchain, its launches prepared by its own host unit from `FmhaArgs`, run with all checks on small
problems (`emulator/ckgen_emulator/fmha/decode_cases.py`: unequal and empty sequences, heads that share K and V, windows
and sink tokens from both corners, shuffled pages of several sizes, last pages in part, NaN in all that must not be
read), whole and in 2 and 5 splits that are combined, and held against NumPy in double precision with a derived bound.
Nothing here ran on hardware.

*Gate*: `ok`, or the rules that the code object breaks. *Right*: runs whose every element is within its bound, of all.
*Findings*: what the emulator's checks found.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2].partition("\n\n")[0])
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--arch", action="append")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    place = chosen.out / "fmha_decode.json" if chosen.out else None
    known = json.loads(place.read_text(encoding="utf-8"))["kernels"] if place and place.is_file() else {}
    began, bad = time.perf_counter(), 0
    for instance, arch in instances():
        key = f"{arch}/{instance.name}"
        wanted = any(fnmatchcase(instance.name, glob) for glob in chosen.kernel or ["*"])
        if not wanted or (chosen.arch and arch not in chosen.arch) or (key in known and not chosen.again):
            continue
        if time.perf_counter() - began > 60 * chosen.minutes:
            break
        known[key] = run_instance(instance, arch)
        bad += not is_well(known[key])
        print(row(key, known[key]), flush=True)
        if place:
            write(place, SCHEMA, HEAD, known, row)
    return 1 if bad else 0


def instances() -> Iterator[tuple[FmhaInstance, str]]:
    """Every instance of SETS, on each arch."""
    for words, hdims in SETS:
        for arch in ARCHS:
            signature = parse_signature(f"fmha_{words}", load_archs()[arch].fp8_flavour)
            for hdim_q, hdim_v in hdims:
                config = HipFmhaConfig(ROWS, step_of(signature.b.bits), hdim_q, hdim_v)
                yield make_fmha_instance(signature, config, (arch,)), arch


def run_instance(instance: FmhaInstance, arch: str) -> dict[str, Any]:
    """Compiles the instance and runs all of its problems."""
    result, kernel = build_kernel(instance, arch)
    record: dict[str, Any] = {"gate": [asdict(one) for one in result.findings], "cpu_seconds": result.cpu_seconds}
    if result.figures is not None:
        names = ("vgpr", "agpr", "sgpr", "spills", "scratch", "lds", "code_bytes")
        record["figures"] = {one: getattr(result.figures, one) for one in names}
    record["runs"] = {}
    for problem in decode_cases(instance.signature, decode_config(instance)):
        for splits in SPLITS:
            runs = [run_fmha(kernel, problem, Options(seed=seed), splits=splits) for seed in (0, 3)]
            record["runs"][f"{problem} splits{splits}"] = {
                "right": all(run.right for run in runs),
                "findings": sorted({finding.rule for run in runs for finding in run.findings}),
                "instructions": runs[0].instructions,
                "excess": max(min(float(f"{one.excess:.3g}"), 1e9) for run in runs for one in run.compared),
            }
    return record


def is_well(record: Mapping[str, Any]) -> bool:
    """Gated, right and clean."""
    return not record["gate"] and all(one["right"] and not one["findings"] for one in record["runs"].values())


def row(key: str, record: Mapping[str, Any]) -> str:
    runs = record["runs"].values()
    gate = ", ".join(sorted({one["rule"] for one in record["gate"]})) or "ok"
    found = ", ".join(sorted({rule for one in runs for rule in one["findings"]})) or "none"
    return cells(key, record["figures"], gate, f"{sum(one['right'] for one in runs)} of {len(runs)}", found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
