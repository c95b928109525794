"""Runs attention kernels on the emulator and writes what came of them.

usage: run_fmha_kernels.py [--kernel GLOB]... [--arch ARCH]... [--seeds N] [--minutes N] [--again] [--gate] [--record]
                           [--out FOLDER]

Every instance of SETS on every arch named there: compiled, gated, its launch prepared by its own host unit, run checked
on the problems of ckgen/emulator/fmha/cases.py, in the plain order and in those of seeds 1 to N. gfx90a and gfx1201 are
compiled and gated only: the emulator has not all of their instructions. What FOLDER/fmha.json has already is not run
again unless --again asks for it; fmha.md is written from it. --minutes: no further kernel is begun after so many.
--gate: instead, what FOLDER/fmha.json has is judged again, and not run. --record: instead, the spills and scratch in
FOLDER/fmha.json become what the gate allows; look at the difference before committing it. Exit code 1 where a result is
wrong or a kernel does not compile.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from ckgen.build.device_code import family_of
from ckgen.emulator.core import Options
from ckgen.emulator.fmha.append import append_cases, run_append
from ckgen.emulator.fmha.build import build_kernel, compile_units
from ckgen.emulator.fmha.cases import cases
from ckgen.emulator.fmha.run import FmhaKernel, run_fmha
from ckgen.emulator.production.model import Outcome
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.config import CkTileFmhaConfig
from ckgen.families.fmha.device import recorded
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.instance import FmhaInstance, make_fmha_instance
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.fmha.tree import append_configs, tree_configs
from ckgen.model.errors import UsageError
from ckgen.rules import judge
from ckgen.rules.fmha_append import ROWS
from ckgen.specs.archs import load_archs

SCHEMA = "ckgen.fmha_kernels/1"
EXECUTED = ("gfx942", "gfx950")


@dataclass(frozen=True, slots=True)
class Set:
    """Signatures, 8-bit types in the arch's flavour; globs of Configs, of which the tree has each that fits; archs.

    `splits`: of the tree of those that share keys among workgroups.
    """

    signatures: tuple[str, ...]
    configs: tuple[str, ...]
    archs: tuple[str, ...]
    splits: bool = False


_BOTH = ("gfx942", "gfx950")
_64, _128 = "qr*_pad1111_*x64x??x64_*", "qr*_pad1111_*x128x??x128_*"
_OPTIONS = (
    "bf16_varlen_masked_alibi_lse", "fp16_elementwise_lse", "bf16_masked_elementwise", "bf16_masked_softcap_lse",
    "fp16_varlen_softcap", "bf16_lse_dropout",
)  # fmt: skip
_APPEND = ("bf16_append_rope_half", "bf16_append_blocktable_rope_interleaved", "fp16_append_blocktable")
_APPEND_OURS = (
    "bf16_append_blocktable_rope_half", "fp16_append_varlen_pagelist_vectorized_rope_interleaved",
    "bf16_fp8_bf16_append_pertensor_blocktable_rope_half", "fp32_append_varlen_vcolumn_rope_half",
    "fp16_fp8_fp16_append_kvblockscale_pagelist_vectorized",
)  # fmt: skip
_PAGED, _GATHER = "qr_pagedkv_*", "qr_async_gather_*"
_PAGED_OPTIONS = (
    "bf16_varlen_masked_alibi_blocktable",
    "fp16_elementwise_blocktable",
    "bf16_varlen_masked_softcap_blocktable",
)
SETS = (
    Set(("bf16_varlen_masked_lse",), (_64, _128), (*_BOTH, "gfx90a", "gfx1201")),
    Set(("fp16_varlen_masked_lse",), (_64, _128), ("gfx942",)),
    Set(("bf16_masked",), ("qr_async_trload_pad0000_*", "qr_async_trload_pad0011_*x64_*"), ("gfx950",)),
    Set(_OPTIONS, (_64,), ("gfx942",)),
    Set(("fp32_masked_lse",), ("qr_pad1111_64x*x64x??x64_*",), _BOTH),
    Set(("fp8_bf16_varlen_masked_pertensor",), ("qr_pad1100_*x128_*",), _BOTH),
    Set(("bf16_varlen_masked_lse",), ("qr_pad1111_*x256x??x256_*",), _BOTH),
    Set(("fp32_masked_lse",), ("qr_pad1111_128x*x128x??x128_*",), ("gfx942",)),
    Set(("bf16_varlen_masked_lse",), ("*_pad1111_*x32x??x32_*", "*_pad1111_*x96_*", "*_pad1111_*x192_*"), ("gfx942",)),
    Set(_OPTIONS, (_128,), ("gfx950",)),
    Set(("fp8_bf16_varlen_masked_pertensor",), ("qr_pad1100_*x64_*",), _BOTH),
    Set(("bf16",), ("qr_async_pad1?11_*x64x??x64_*",), _BOTH),
    Set(("fp16",), (_128,), _BOTH),
    Set(("bf16_masked_lse",), ("qr_pad0000_*x64x??x64_*",), ("gfx1201",)),
    Set(("fp8_bf16_masked_pertensor",), ("qr_pad1100_*x64_*",), ("gfx1201",)),
    Set(("bf16_varlen",), ("qr_pad1100_*x256x??x256_*",), ("gfx942",)),
    Set(("bf16_varlen_masked_lse",), ("qr_splitkv_pad1100_*x128x??x128_*",), _BOTH, splits=True),
    Set(("fp16_lse_blocktable",), ("qr_splitkv_merged_pad1100_*",), _BOTH, splits=True),
    Set(("fp8_bf16_varlen_masked_pertensor",), ("qr_splitkv_pad1100_*x64_*",), _BOTH, splits=True),
    Set(("bf16_varlen_masked_blocktable",), ("qr_splitkv_pad1111_*x64x??x64_*",), ("gfx942",), splits=True),
    Set(("fp16_masked_softcap_lse_blocktable",), ("qr_splitkv_pad1100_*x64x??x64_*",), ("gfx950",), splits=True),
    Set(("bf16_masked_elementwise",), ("qr_splitkv_pad1100_*x64x??x64_*",), ("gfx950",), splits=True),
    Set(("fp16_varlen_masked_alibi_lse",), ("qr_splitkv_pad1111_*x64x??x64_*",), ("gfx942",), splits=True),
    Set(
        ("bf16_lse",), ("qr_splitkv_pad1000_*x64x??x64_*", "qr_splitkv_pad1111_*x32x??x32_*"), ("gfx942",), splits=True
    ),
    Set(("fp8_bf16_varlen_masked_pertensor",), ("qr_splitkv_pad1100_*x128_*",), ("gfx942",), splits=True),
    Set(("fp16_masked",), ("qr_splitkv_pad1111_*x256_*", "qr_splitkv_pad1111_*x96_*"), ("gfx942",), splits=True),
    Set(("bf16_varlen_masked_lse",), ("qr_splitkv_pad1100_*x64x??x64_*",), ("gfx90a", "gfx1201"), splits=True),
    Set(_APPEND, ("append_pad1111_*x128",), _BOTH),
    Set(("bf16_append_blocktable_rope_half",), ("append_pad*_*x64",), ("gfx942",)),
    Set(("bf16_append_rope_interleaved",), ("append_pad1111_*x32", "append_pad1111_*x256"), ("gfx942",)),
    Set(_APPEND_OURS, ("append_8",), _BOTH),
    Set(("bf16_varlen_masked_lse_pagelist",), (_GATHER,), _BOTH),
    Set(tuple(f"{words}_pagelist" for words in _OPTIONS), (f"{_GATHER}_32x32x16",), ("gfx942",)),
    Set(("bf16_varlen_masked_blocktable",), (_PAGED,), _BOTH),
    Set(("fp8_varlen_masked_pertensor_blocktable",), (f"{_PAGED}x128x??x128_*",), _BOTH),
    Set(_PAGED_OPTIONS, (_PAGED,), ("gfx942",)),
    Set(("fp16_varlen_masked_lse_blocktable",), (_GATHER,), ("gfx950",)),
    Set(("bf16_varlen_masked_blocktable",), (_PAGED,), ("gfx90a", "gfx1201")),
    Set(("bf16_varlen_masked_lse_pagelist",), (_GATHER,), ("gfx90a",)),
)
"""The Configs of a glob are the tree's that the rules take."""

HEAD = """# Attention kernels, ck_tile's and ours, executed on the emulator

Written by `tools/run_fmha_kernels.py --out docs/amd/families`; `fmha.json` has every run. Each kernel is compiled with
the pinned toolchain, its launch prepared by its own host unit from `FmhaArgs`, run with all checks on small problems
(`codegen/ckgen/emulator/fmha/cases.py`: unequal and empty sequences, heads that share K and V, windows from both
corners, head dims below the tile's, one to eight splits of the keys with the kernel that combines them; `append.py`:
caches in which nothing but the new rows may change), and held
against NumPy in double precision with a derived bound. Nothing here ran on hardware.

*Gate*: `ok`, or the rules that the code object breaks beyond what is recorded. *Right*: runs whose every element is
within its bound, of all. *Findings*: what the emulator's checks found, and in how many runs. gfx90a and gfx1201 are
compiled and gated only.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2].partition("\n\n")[0])
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--arch", action="append")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    place = chosen.out / "fmha.json" if chosen.out else None
    known = json.loads(place.read_text(encoding="utf-8"))["kernels"] if place and place.is_file() else {}
    if chosen.record:
        record_overflows(known)
        return 0
    began, bad = time.perf_counter(), 0
    for instance, arch in instances():
        key = f"{arch}/{instance.name}"
        wanted = any(fnmatchcase(instance.name, glob) for glob in chosen.kernel or ["*"])
        if not wanted or (chosen.arch and arch not in chosen.arch):
            continue
        if chosen.gate and key in known:
            known[key]["gate"] = [asdict(one) for one in compile_units(instance, arch).result.findings]
            if place:
                write(place, known)
        if chosen.gate or (key in known and not chosen.again):
            continue
        if time.perf_counter() - began > 60 * chosen.minutes:
            break
        known[key] = run_instance(instance, arch, chosen.seeds)
        bad += not is_well(known[key])
        print(key, line(known[key]), flush=True)
        if place:
            write(place, known)
    return 1 if bad else 0


def instances() -> Iterator[tuple[FmhaInstance, str]]:
    """Every instance of SETS with every arch of it, each pair once."""
    seen = set()
    for one in SETS:
        for arch in one.archs:
            for words in one.signatures:
                for config in configs(words, one.configs, arch, splits=one.splits):
                    signature = parse_signature(f"fmha_{words}", load_archs()[arch].fp8_flavour)
                    instance = make_fmha_instance(signature, config, (arch,))
                    if (instance.name, arch) not in seen:
                        seen.add((instance.name, arch))
                        yield instance, arch


def configs(words: str, globs: tuple[str, ...], arch: str, *, splits: bool) -> Iterator[AnyFmhaConfig]:
    """The Configs of the tree, and ours that append, that are named like a glob and that the rules take."""
    spec = load_archs()[arch]
    signature = parse_signature(f"fmha_{words}", spec.fp8_flavour)
    known: tuple[AnyFmhaConfig, ...] = tree_configs(signature, arch, splits=splits)
    if appends(signature.traits):
        known = (*append_configs(signature, arch), HipAppendConfig(ROWS))
    for config in known:
        if any(fnmatchcase(config.text(), glob) for glob in globs) and not judge(
            signature, config, config.backend, spec
        ):
            yield config


def run_instance(instance: FmhaInstance, arch: str, seeds: int) -> dict[str, Any]:
    """Compiles the instance, and runs it where the emulator knows the arch."""
    reason = family_of(instance).unavailable(instance, arch)
    if reason:
        return {"unavailable": reason}
    try:
        result, kernel = build_kernel(instance, arch)
    except UsageError as error:
        print(error, file=sys.stderr)
        return {"failed": True}
    record: dict[str, Any] = {"gate": [asdict(one) for one in result.findings], "cpu_seconds": result.cpu_seconds}
    if result.figures is not None:
        names = ("vgpr", "agpr", "sgpr", "spills", "scratch", "lds", "code_bytes")
        record["figures"] = {one: getattr(result.figures, one) for one in names}
    if arch not in EXECUTED:
        return record
    record["runs"] = {}
    for problem, run in problems(kernel):
        runs = [run(Options(seed=seed)) for seed in range(seeds + 1)]
        record["runs"][problem] = {
            "right": all(run.right for run in runs),
            "findings": dict(sorted(Counter(finding.rule for run in runs for finding in run.findings).items())),
            "instructions": runs[0].instructions,
            "excess": max(min(float(f"{one.excess:.3g}"), 1e9) for run in runs for one in run.compared),
        }
    return record


def problems(kernel: FmhaKernel) -> Iterator[tuple[str, Callable[[Options], Outcome]]]:
    """What the kernel is run on, and how."""
    config = kernel.instance.config
    if isinstance(config, CkTileAppendConfig | HipAppendConfig):
        for one in append_cases(kernel.signature, config):
            yield str(one), partial(run_append, kernel, one)
        return
    assert isinstance(config, CkTileFmhaConfig)
    for problem in cases(kernel.signature, config):
        yield str(problem), partial(run_fmha, kernel, problem)


def is_well(record: Mapping[str, Any]) -> bool:
    """Unavailable, or compiled and right."""
    return not record.get("failed") and all(one["right"] for one in record.get("runs", {}).values())


def gate_of(record: Mapping[str, Any]) -> str:
    rules = {one["rule"] for one in record.get("gate", ()) if one["severity"] == "error"}
    return ", ".join(sorted(rules)) or "ok"


def found_in(record: Mapping[str, Any]) -> str:
    runs = Counter(rule for one in record.get("runs", {}).values() for rule in one["findings"])
    return ", ".join(f"{rule} {count}" for rule, count in sorted(runs.items())) or "none"


def line(record: Mapping[str, Any]) -> str:
    if "unavailable" in record or record.get("failed"):
        return f"unavailable: {record['unavailable']}" if "unavailable" in record else "does not compile"
    runs = record.get("runs", {}).values()
    right = sum(one["right"] for one in runs)
    return f"right {right} of {len(runs)}; gate {gate_of(record)}; findings {found_in(record)}; {record['figures']}"


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


def write(place: Path, records: Mapping[str, Any]) -> None:
    ordered = dict(sorted(records.items()))
    place.write_text(json.dumps({"schema": SCHEMA, "kernels": ordered}, indent=1) + "\n", encoding="utf-8")
    rows = ["| kernel | arch | VGPR | spills | scratch | LDS | gate | right | findings |", "|---" * 9 + "|"]
    rows += [row(key, one) for key, one in ordered.items()]
    place.with_suffix(".md").write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")


def row(key: str, record: Mapping[str, Any]) -> str:
    arch, _, name = key.partition("/")
    if "unavailable" in record or record.get("failed"):
        return f"| `{name}` | {arch} | | | | | {line(record)} | | |"
    figures, runs = record["figures"], record.get("runs")
    right = f"{sum(one['right'] for one in runs.values())} of {len(runs)}" if runs is not None else "not run"
    numbers = " | ".join(str(figures[one]) for one in ("vgpr", "spills", "scratch", "lds"))
    return f"| `{name}` | {arch} | {numbers} | {gate_of(record)} | {right} | {found_in(record) if runs else ''} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
