"""Runs classic CK's MoE kernels of the shipped tables on the emulator and writes what came of them.

usage: run_moe_kernels.py [--kernel GLOB]... [--arch ARCH]... [--steps N,N...] [--seeds N] [--minutes N]
                          [--layers | --defaults] [--record] [--out FOLDER]

Every kernel on every arch that a table names it for: compiled, gated, its launch prepared by its own host unit, run
checked on 40 tokens, 4 experts, two each, for every number of K steps (which decide the device kernel), in the plain
order and in those of seeds 1 to N. What FOLDER/moe.json has already is not run again; moe.md is written from it.
--minutes: no further kernel is begun after so many. --layers: instead, whole layers of the pairs of LAYERS, through
the dispatcher and the emulator's HIP runtime: tokens sorted, gate_up, H quantised, down. --defaults: the same of every
pair that answers where no row does and that is not in FOLDER/moe.json, 150 tokens each. --record: instead, the spills
and scratch in FOLDER/moe.json become what the gate allows; look at the difference before committing it. Exit code 1
where a result is wrong or something was found.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ckgen import paths
from ckgen.build.amd.toolchain import load
from ckgen.build.build_run import build_planned
from ckgen.build.cache import Cache, default_cache
from ckgen.build.compile import OBJECT, host_job
from ckgen.build.planned import plan_host, plan_kernel
from ckgen.build.pool import Outcome, default_limits
from ckgen.build.result import Result
from ckgen.build.unit_files import code_objects
from ckgen.families.common.device.unit import Use, prepare_symbol
from ckgen.families.gemm.device import recorded
from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.instance import Instance
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.registry import FAMILIES, make_instance
from ckgen.families.robust import robust
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape
from ckgen.progress import Progress
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import Data, GemmProblem
from ckgen_emulator.gemm.runtime import build_runtime
from ckgen_emulator.moe.call import link
from ckgen_emulator.moe.named import named_product
from ckgen_emulator.moe.problem import PartProblem
from ckgen_emulator.moe.run import PartKernel, run_part
from kernel_records import compiled, gate_of, problem, read, write
from markdown_text import wrapped

SCHEMA = "ckgen.moe_kernels/1"
PREFIX = "moe_ck2stages_"
ARCH_OF_CU = {"80": "gfx942", "304": "gfx942", "256": "gfx950"}
"""Of rows that name no arch."""

LAYERS = (
    (
        "256x32x64x64_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight0_silu_B16_B16_B16",
        "256x32x64x64_1x4_TypeCastExpertWeight_v1_Nswizzle0_Quant0_MulRoutedWeight1_B16_B16_B16",
    ),
    (
        "256x32x64x128_1x4_MulABScale_v1_Nswizzle0_Quant2_MulRoutedWeight0_silu_F8_F8_B16",
        "256x32x64x128_1x4_MulABScaleExpertWeight_v1_Nswizzle0_Quant2_MulRoutedWeight1_F8_F8_B16",
    ),
    (
        "256x16x128x256_1x4_MulABScaleExpertWeightA8W8blkscale_v1_Nswizzle0_Quant4_MulRoutedWeight0_silu_F8_F8_B16",
        "256x16x128x256_1x4_MulABScaleExpertWeightA8W8blkscale_v1_Nswizzle0_Quant4_MulRoutedWeight1_F8_F8_B16",
    ),
)
FP4_LAYERS = (
    (
        "256x32x128x128_1x4_MulABScaleShuffled_v3_Nswizzle0_Quant3_MulRoutedWeight0_silu_FP4X2_FP4X2_B16",
        "256x32x128x128_1x4_MulABScaleExpertWeightShuffled_v3_Nswizzle0_Quant3_MulRoutedWeight1_FP4X2_FP4X2_B16",
    ),
)
"""Names behind `moe_ck2stages_gemm1_` and `moe_ck2stages_gemm2_`; FP4_LAYERS of gfx950, sorted by the caller."""

HEAD = """# Classic CK's MoE kernels of the tables, executed on the emulator

Written by `tools/run_moe_kernels.py --out docs/amd/families`; `moe.json` has a line per kernel. Each is compiled with
the pinned toolchain, its launch prepared by its own host unit from `MoeArgs`, run with all checks on 40 tokens, 4
experts and two experts per token, and held against NumPy in double precision with a derived bound
(`emulator/ckgen_emulator/moe/problem.py`). Nothing here ran on hardware.

*Gated*: the code object passes every rule. *Right*: every element of every run within its bound, in the plain order and
in the adversary's orders, in which waves run far ahead and direct-to-LDS loads come as late as they may. *Clean*: no
check found anything in any of them. *Device kernels*: variants by main loop and tail that ran.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2].partition("\n")[0])
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--arch", action="append")
    parser.add_argument("--steps", default="1,2,3,4")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    steps = tuple(map(int, chosen.steps.split(",")))
    place = chosen.out / "moe.json" if chosen.out else None
    known = read(place)
    if chosen.record:
        record_overflows(known["kernels"])
        return 0
    archs, globs = chosen.arch or ["gfx942"], chosen.kernel or ["*"]
    if chosen.layers:
        return run_layers(named_layers(archs, globs, chosen.seeds), place, known)
    if chosen.defaults:
        done = known.get("layers", {})
        return run_layers(default_layers(archs, globs, chosen.seeds, done), place, known)
    records = known["kernels"]
    began, bad = time.perf_counter(), 0
    for name, arch in named():
        wanted = any(fnmatchcase(name, glob) for glob in chosen.kernel or ["*"])
        if not wanted or (chosen.arch and arch not in chosen.arch):
            continue
        ran = records.get(f"{arch}/{name}", {})
        missing = tuple(one for one in steps if str(one) not in ran.get("steps", {}))
        if ran.get("unavailable") or not missing:
            continue
        if time.perf_counter() - began > 60 * chosen.minutes:
            break
        record = run_named(name, arch, missing, chosen.seeds)
        record["steps"] = dict(sorted({**ran.get("steps", {}), **record.get("steps", {})}.items()))
        records[f"{arch}/{name}"] = record
        bad += not is_well(record)
        print(arch, name, line(record), flush=True)
        if place:
            keep(place, known)
    return 1 if bad else 0


def run_layers(requests: Iterable[tuple[str, Request]], place: Path | None, known: dict[str, Any]) -> int:
    """Each layer, by its key, as one plan of sort, gate_up, quantise and down."""
    bad = 0
    runtime, toolchain = build_runtime(print), load()
    context = default_context(toolchain, load_archs(), print, Progress(), 1)
    for key, request in requests:
        results = emulate([request], runtime, context, RunOptions())
        record = {
            "instance": request.kernel.instance.name,
            "launches": [str(one.get("kernel")) for one in results[0].answer.launches] if results[0].answer else [],
            "right": all(one.gpu is not None and one.gpu.ok for one in results),
            "twin_right": all(one.twin is not None and one.twin.ok for one in results),
            "findings": dict(Counter(str(found["rule"]) for one in results for found in one.findings)),
            "excess": max((float(f"{one.gpu.excess:.3g}") for one in results if one.gpu), default=None),
            "trouble": [text for one in results for text in one.trouble],
        }
        print(key, record, flush=True)
        bad += not record["right"] or bool(record["findings"])
        known.setdefault("layers", {})[key] = record
        if place:
            keep(place, known)
    return 1 if bad else 0


def named_layers(archs: Iterable[str], globs: Sequence[str], seeds: int) -> Iterator[tuple[str, Request]]:
    """Each pair of LAYERS on each arch."""
    for arch in archs:
        for first, second in (*LAYERS, *(FP4_LAYERS if arch == "gfx950" else ())):
            if any(fnmatchcase(first, glob) for glob in globs):
                request = layer_request(f"{PREFIX}gemm1_{first}", f"{PREFIX}gemm2_{second}", arch, seeds)
                yield f"{arch}/{first}", request


def default_layers(
    archs: Iterable[str], globs: Sequence[str], seeds: int, done: Mapping[str, Any]
) -> Iterator[tuple[str, Request]]:
    """Each pair that every library has on an arch, but those that are done."""
    for arch in archs:
        spec = load_archs()[arch]
        layers = sorted({one.resolved(spec.fp8_flavour) for one in FAMILIES["moe"].answered}, key=str)
        for layer in layers:
            for config in robust(layer, arch).configs:
                instance = make_instance(layer, config, archs=(arch,))
                key = f"{arch}/{instance.name}"
                if key not in done and any(fnmatchcase(instance.name, glob) for glob in globs):
                    yield key, request_of(instance, arch, 150, seeds)


def layer_request(first: str, second: str, arch: str, seeds: int) -> Request:
    """40 tokens of the pair that two names spell."""
    spec = load_archs()[arch]
    gate_up, down = named_product(first, spec), named_product(second, spec)
    layer = replace(gate_up.signature, moe=replace(gate_up.signature.moe, part=MoePart.LAYER))
    pair = MoePairConfig(gate_up.config, down.config)
    instance = make_instance(layer, pair, module=gate_up.module, table_kernel="", archs=(arch,))
    return request_of(instance, arch, 40, seeds)


def request_of(instance: Instance, arch: str, tokens: int, seeds: int) -> Request:
    """So many tokens, 4 experts, two each; four steps of K in both products, which are whole tiles of both."""
    pair = instance.config
    assert isinstance(pair, MoePairConfig)
    first, second = pair.gate_up, pair.down
    shape = Shape(0, tokens, 4 * max(second.k_grain, first.macro_tile.n), 4 * max(first.k_grain, second.macro_tile.n))
    block_m = pair.macro_tile.m if instance.signature.quant is Quant.MX else 0
    problems = tuple(
        GemmProblem(shape, seed=seed, data=Data.RANDOM, routing=Routing(4, 2), block_m=block_m)
        for seed in range(seeds + 1)
    )
    return Request(GemmKernel(instance, arch, ()), load_archs()[arch].default_cu_num, problems)


def named() -> list[tuple[str, str]]:
    """Every classic CK kernel that a shipped table names, with each arch that it is named for."""
    found: set[tuple[str, str]] = set()
    for file in sorted(paths.tuning_dir().rglob("*fmoe*.csv")):
        with file.open(encoding="utf-8", newline="") as text:
            for row in csv.DictReader(text):
                arch = row.get("gfx") or ARCH_OF_CU.get(row.get("cu_num", ""), "")
                names = (row.get("kernelName1") or "", row.get("kernelName2") or "")
                found |= {(name, arch) for name in names if name.startswith(PREFIX) and arch}
    return sorted(found)


def run_named(name: str, arch: str, steps: Iterable[int], seeds: int) -> dict[str, Any]:
    """Compiles what these numbers of K steps reach, and runs it."""
    spec = load_archs()[arch]
    instance = named_product(name, spec)
    depths = {count: count * instance.config.k_grain for count in steps}
    uses = [Use(Shape(0, 1, 1, k), 1) for k in depths.values()]
    planned = plan_kernel(instance, arch, uses)
    if planned.unavailable:
        return {"unavailable": planned.unavailable}
    result, device, host = built(instance, arch, uses)
    record = compiled(result)
    if device is None or host is None:
        return {**record, "failed": True}
    folder = default_cache() / "emulated" / "moe"
    library = link(host.entry.output(OBJECT), prepare_symbol(instance.id), instance.signature, arch, folder)
    code = code_objects(device.entry.folder)[0].read_bytes()
    kernel = PartKernel(name, instance.signature, arch, instance.config.macro_tile.m, code, library)
    record["steps"] = {str(count): run_depth(kernel, columns(instance), k, seeds) for count, k in depths.items()}
    return record


def built(instance: Instance, arch: str, uses: list[Use]) -> tuple[Result, Outcome | None, Outcome | None]:
    """The gate's word, and the outcomes of device and host compile where they are well."""
    toolchain, cache, heard = load(), Cache(default_cache()), []
    hosts: list[Outcome] = []
    host = host_job(plan_host(instance, {arch: uses}).unit, toolchain)
    build_planned(
        [plan_kernel(instance, arch, uses)], toolchain, load_archs(), cache, default_limits(1, retry=True),
        lambda planned, result, outcome: heard.append((result, outcome)), Progress(), also=[host],
        also_done=hosts.append,
    )  # fmt: skip
    ((result, outcome),) = heard
    for one in (outcome, *hosts):
        if one is not None and not one.entry.ok:
            print(one.entry.log[:2000], file=sys.stderr)
    return result, *(one if one is not None and one.entry.ok else None for one in (outcome, *hosts))


def columns(instance: Instance) -> int:
    """Two tiles along N, in whole blocks of scales."""
    n = 2 * instance.config.macro_tile.n
    return -(-n // 128) * 128 if instance.signature.quant is Quant.BLOCKSCALE else n


def run_depth(kernel: PartKernel, n: int, k: int, seeds: int) -> dict[str, Any]:
    """One problem in every order."""
    runs = [run_part(kernel, PartProblem(40, n, k, seed=seed), Options(seed=seed)) for seed in range(seeds + 1)]
    return {"kernel": runs[0].kernel.partition("_")[2].partition("_")[2], **problem(runs)}


def is_well(record: Mapping[str, Any]) -> bool:
    """Unavailable, or compiled, gated, right and clean."""
    if "unavailable" in record:
        return True
    return (
        not record.get("failed")
        and gate_of(record["gate"]) == "ok"
        and all(one["right"] and not one["findings"] for one in record["steps"].values())
    )


def line(record: Mapping[str, Any]) -> str:
    if "unavailable" in record or record.get("failed"):
        return f"unavailable: {record['unavailable']}" if "unavailable" in record else "does not compile"
    runs = record["steps"].values()
    found = ",".join(sorted({rule for one in runs for rule in one["findings"]}))
    right = all(one["right"] for one in runs) and bool(runs)
    return (
        f"{'right' if right else 'WRONG'} {len(runs)} runs; gate {gate_of(record['gate'])}; findings {found or 'none'}"
    )


def record_overflows(records: Mapping[str, Any]) -> None:
    """Adds what the gate refused to families/moe/device/recorded.json, the larger of old and new."""
    place = recorded.FILES[1]
    data = json.loads(place.read_text(encoding="utf-8"))
    found = {(one["kernel"], one["arch"], one["variant"]): one for one in data["kernels"]}
    for key, record in records.items():
        arch, _, name = key.partition("/")
        for finding in record.get("gate", ()):
            if (field := {"spills": "spills", "scratch": "scratch_bytes"}.get(finding["rule"])) is not None:
                place_of = (named_product(name, load_archs()[arch]).name, arch, finding["variant"].split("_", 2)[2])
                one = found.setdefault(place_of, dict(zip(("kernel", "arch", "variant"), place_of, strict=True)))
                one[field] = max(one.get(field, 0), int(finding["measured"]))
                one.setdefault("spills", 0)
                one.setdefault("scratch_bytes", 0)
    data["kernels"] = [found[key] for key in sorted(found)]
    place.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def keep(place: Path, known: Mapping[str, Any]) -> None:
    records, layers = dict(sorted(known["kernels"].items())), dict(sorted(known.get("layers", {}).items()))
    write(place, {"schema": SCHEMA, "kernels": records, "layers": layers}, page(records, layers))


def page(records: Mapping[str, Any], layers: Mapping[str, Any]) -> str:
    """The page of a document's records and layers."""
    rows = ["| scales | part | arch | named | compiled | gated | right | clean | device kernels |", "|---" * 9 + "|"]
    rows += list(table(records))
    notes = [f"- `{key}`: {one['unavailable']}" for key, one in records.items() if "unavailable" in one]
    left = sorted({f"{arch}/{name}" for name, arch in named()} - set(records))
    notes += [f"- not compiled yet: {len(left)} of {len(named())} names and archs"] if left else []
    for key, one in layers.items():
        how = "right" if one["right"] else "wrong"
        found = ", ".join(f"{count} {rule}" for rule, count in one["findings"].items()) or "nothing found"
        notes.append(f"- layer through the dispatcher, {len(one['launches'])} launches, `{key}`: {how}, {found}")
    return wrapped("\n".join([HEAD, *rows, "", *notes]).rstrip()) + "\n"


def table(records: Mapping[str, Any]) -> Iterator[str]:
    kinds: dict[tuple[str, str, str], list[Any]] = {}
    for name, arch in named():
        signature = named_product(name, load_archs()[arch]).signature
        kind = f"{signature.a} {signature.quant}".removesuffix(" none")
        kinds.setdefault((kind, str(signature.moe.part), arch), []).append(records.get(f"{arch}/{name}"))
    for (kind, part, arch), ones in sorted(kinds.items()):
        ran = [one for one in ones if one and one.get("steps")]
        gated = sum(gate_of(one["gate"]) == "ok" for one in ran)
        right = sum(all(run["right"] for run in one["steps"].values()) for one in ran)
        clean = sum(not any(run["findings"] for run in one["steps"].values()) for one in ran)
        kernels = len({(id(one), run["kernel"]) for one in ran for run in one["steps"].values()})
        yield f"| {kind} | {part} | {arch} | {len(ones)} | {len(ran)} | {gated} | {right} | {clean} | {kernels} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
