"""Runs attention kernels on the emulator and writes what came of them.

usage: run_fmha_kernels.py [--kernel GLOB]... [--arch ARCH]... [--seeds N] [--minutes N] [--again]
                           [--gate | --dispatch | --record] [--out FOLDER]

Every instance of fmha_kernel_sets.py on every arch named there: compiled, gated, its launch prepared by its own host
unit, run checked on the problems of ckgen_emulator/fmha/cases.py, in the plain order and in those of seeds 1 to N.
RDNA's are compiled and gated only: the emulator has the instructions of CDNA. What FOLDER/fmha.json has already is not
run again unless --again asks for it; fmha.md is written from it. --minutes: no further kernel is begun after so many.
--gate: instead, what FOLDER/fmha.json has is judged again, and not run. --dispatch: instead, kernels there that append
run once through the C++ dispatcher. --record: instead, the spills and scratch in FOLDER/fmha.json become what the gate
allows; look at the difference before committing it. Exit code 1 where a result is wrong or a kernel does not compile.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from ckgen.build.amd.toolchain import load
from ckgen.build.device_code import device_code
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.config import CkTileFmhaConfig
from ckgen.families.fmha.device import recorded
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.append import append_cases, run_append
from ckgen_emulator.fmha.build import build_kernel, compile_units
from ckgen_emulator.fmha.cases import cases
from ckgen_emulator.fmha.dispatched import dispatched
from ckgen_emulator.fmha.run import FmhaKernel, run_fmha
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.runtime import build_runtime
from ckgen_emulator.production.model import Outcome
from fmha_kernel_sets import instances
from kernel_records import cells, compiled, found_in, gate_of, problem, problems, read, right_of, write_table

SCHEMA = "ckgen.fmha_kernels/1"
EXECUTED = ("gfx90a", "gfx942", "gfx950")

HEAD = """# Attention kernels, ck_tile's and ours, executed on the emulator

Written by `tools/run_fmha_kernels.py --out docs/amd/families`; `fmha.json` has a line per kernel. Each is compiled with
the pinned toolchain, its launch prepared by its own host unit from `FmhaArgs`, run with all checks on small problems
(`emulator/ckgen_emulator/fmha/cases.py`: unequal and empty sequences, heads that share K and V, windows from both
corners, head dims below the tile's, pages behind 2 GiB of others or the last ones that the kernel takes, one to eight
splits of the keys with the kernel that combines them; `append.py`: caches in which nothing but the new rows may
change), and held against NumPy in double precision with a derived bound. Nothing here ran on hardware.

*Gate*: `ok`, or the rules that the code object breaks beyond what is recorded. *Right*: problems whose every element
is within its bound, of all; *dispatched*: chosen, planned and run by the C++ dispatcher besides. *Findings*: what the
emulator's checks found, and in how many problems.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2].partition("\n\n")[0])
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--arch", action="append")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--dispatch", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    place = chosen.out / "fmha.json" if chosen.out else None
    known = read(place)["kernels"]
    if chosen.record:
        record_overflows(known)
        return 0
    began, bad = time.perf_counter(), 0
    for instance, arch in instances():
        key = f"{arch}/{instance.name}"
        wanted = any(fnmatchcase(instance.name, glob) for glob in chosen.kernel or ["*"])
        if not wanted or (chosen.arch and arch not in chosen.arch):
            continue
        if key in known and (chosen.gate or (chosen.dispatch and appends(instance.signature.traits))):
            change = run_dispatched(instance, arch) if chosen.dispatch else gated(instance, arch)
            known[key] |= change
            bad += not is_well(known[key])
            print(key, change, flush=True)
            if place:
                write_table(place, SCHEMA, HEAD, known, row)
        if chosen.gate or chosen.dispatch or (key in known and not chosen.again):
            continue
        if time.perf_counter() - began > 60 * chosen.minutes:
            break
        known[key] = run_instance(instance, arch, chosen.seeds)
        bad += not is_well(known[key])
        print(key, line(known[key]), flush=True)
        if place:
            write_table(place, SCHEMA, HEAD, known, row)
    return 1 if bad else 0


def run_instance(instance: FmhaInstance, arch: str, seeds: int) -> dict[str, Any]:
    """Compiles the instance, and runs it where the emulator knows the arch."""
    reason = device_code(instance).unavailable(arch)
    if reason:
        return {"unavailable": reason}
    try:
        result, kernel = build_kernel(instance, arch)
    except UsageError as error:
        print(error, file=sys.stderr)
        return {"failed": True}
    record = compiled(result)
    if arch not in EXECUTED:
        return record | {"not_run": "the emulator has CDNA's instructions alone"}
    runs: dict[str, Any] = {}
    for name, run in calls(kernel):
        try:
            runs[name] = problem([run(Options(seed=seed)) for seed in range(seeds + 1)])
        except UsageError as error:
            if runs:
                raise
            return record | {"not_run": str(error)}
    return record | {"runs": problems(runs)}


def calls(kernel: FmhaKernel) -> Iterator[tuple[str, Callable[[Options], Outcome]]]:
    """What the kernel is run on, and how."""
    config = kernel.instance.config
    if isinstance(config, CkTileAppendConfig | HipAppendConfig):
        for one in append_cases(kernel.signature, config):
            yield str(one), partial(run_append, kernel, one)
        return
    assert isinstance(config, CkTileFmhaConfig)
    for one in cases(kernel.signature, config):
        yield str(one), partial(run_fmha, kernel, one)


def gated(instance: FmhaInstance, arch: str) -> dict[str, Any]:
    """What the gate says now."""
    return {"gate": [asdict(one) for one in compile_units(instance, arch).result.findings]}


def run_dispatched(instance: FmhaInstance, arch: str) -> dict[str, Any]:
    """One plan and one run of a kernel that appends, on a problem of several sequences."""
    assert isinstance(instance.config, CkTileAppendConfig | HipAppendConfig)
    case = append_cases(instance.signature, instance.config)[1]
    context = default_context(load(), load_archs(), print, lambda standing: None, 1)
    (found,) = dispatched(instance, arch, [case], build_runtime(print), context)
    return {"dispatched": {"problem": str(case), "right": found.right, "findings": found.findings}}


def is_well(record: Mapping[str, Any]) -> bool:
    """Unavailable, or compiled and right."""
    wrong = record.get("runs", {}).get("wrong", ())
    return not (record.get("failed") or wrong) and record.get("dispatched", {}).get("right", True)


def line(record: Mapping[str, Any]) -> str:
    if "unavailable" in record or record.get("failed"):
        return f"unavailable: {record['unavailable']}" if "unavailable" in record else "does not compile"
    gate = gate_of(record["gate"])
    if "not_run" in record:
        return f"not run: {record['not_run']}; gate {gate}; {record['figures']}"
    runs = record["runs"]
    return f"right {right_of(runs)}; gate {gate}; findings {found_in(runs['findings'])}; {record['figures']}"


def record_overflows(records: Mapping[str, Any]) -> None:
    """Writes what the kernels spill to families/fmha/device/recorded.json."""
    data = json.loads(recorded.FILE.read_text(encoding="utf-8"))
    found = {(one["kernel"], one["arch"]): one for one in data["kernels"]}
    for key, record in records.items():
        arch, _, name = key.partition("/")
        if figures := record.get("figures"):
            numbers = {"spills": figures["spills"], "scratch_bytes": figures["scratch"]}
            found[name, arch] = {"kernel": name, "arch": arch, **numbers}
    rows = ",\n".join(f"    {json.dumps(found[key])}" for key in sorted(found))
    head = json.dumps({name: value for name, value in data.items() if name != "kernels"}, indent=2)
    text = f'{head[:-2]},\n  "kernels": [\n{rows}\n  ]\n}}\n'
    recorded.FILE.write_text(text, encoding="utf-8")


def row(key: str, record: Mapping[str, Any]) -> str:
    arch, _, name = key.partition("/")
    if "unavailable" in record or record.get("failed"):
        return f"| `{name}` | {arch} | | | | | {line(record)} | | |"
    runs = record.get("runs")
    right = right_of(runs) if runs else f"not run: {record['not_run']}"
    if "dispatched" in record:
        right += ", and dispatched" if record["dispatched"]["right"] else ", wrong if dispatched"
    return cells(key, record["figures"], gate_of(record["gate"]), right, found_in(runs["findings"]) if runs else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
