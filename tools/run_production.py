"""Runs AMD's production kernels on the emulator and writes what came of it.

usage: run_production.py [--kind KIND]... [--kernel TEXT] [--problem NAME] [--seeds N] [--show N] [--edges]
                         [--out FOLDER]

Every kernel of the kinds (all, unless some are named; of those whose path contains TEXT), every problem: side by side,
with the checks, and in the orders of seeds 1 to N. --show prints each run, with its first N findings. With --out, the
kinds that ran are replaced in FOLDER/production.json, and production.md is written from it; only for whole kinds; with
--edges too, only what came of the problems at the host code's conditions. Exit code 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ckgen.build.amd.toolchain import load
from ckgen_emulator.production.causes import Witness, cause_of, causes
from ckgen_emulator.production.kinds import KINDS
from ckgen_emulator.production.model import Kind, Outcome
from ckgen_emulator.production.run import SIDE_BY_SIDE, run_production
from ckgen_emulator.production.wheel import KernelFile, Wheel, production_wheel, wheel_path
from kernel_records import found_in, read, write
from markdown_text import wrapped

SCHEMA = "ckgen.production/2"
WHY_NOT = {
    "all_reduce": "several GPUs that share memory",
    "allreduce": "several GPUs that share memory",
}
"""Why kernels of no kind are not run, by what their file name begins with; else nobody has described them."""

HEAD = """# AMD's production assembly kernels, run unmodified on the emulator

Written by `tools/run_production.py --seeds {seeds} --out docs/amd`; `production.json` has a line per kernel. The
kernels are the code objects in AITER's wheel, the problems one tile or a few with the edges that the launchers allow,
the operands random, the references NumPy's in `emulator/ckgen_emulator/production/`. Nothing here ran on hardware.

*Right*: kernels whose every output is within its bound in every problem, waves and workgroups side by side (a wave
eight instructions in turn), as a GPU that holds them all might run them. *Clean*: of these, where no check found
anything, in any order. *In any order*: of the right ones, those that stay so under the adversary's {seeds} orders, in
which waves run far ahead and direct-to-LDS loads come as late as they may. Findings: kernels with at least one, by
rule; by cause they stand below. A finding says what the ISA does not guarantee, not that hardware fails.
"""

CAUSES = """
## Findings by cause

Every finding has a cause, or the tool stops. *Witnessed*: kernels with the cause of which an order of waves and
arrivals is known that replays and makes a result wrong, or that write where they must not in any. Some of these have
another cause too; the pages say which of them it was. *Suspected*: all others. No device has confirmed or refuted any
of them. A second emulator, AMD's rocjitsu, gives the same wrong elements for two of the kernels that are wrong side by
side (`fwd_hd128_bf16_causal_group` all 1,760 of them, `fwd_hd128_bf16_causal` the same 3,479 and more), and its race
detector names the same pair of instructions in `layer_norm`.

| cause | rule | kernels | places | witnessed | suspected | what documents say | read in |
|---|---|---|---|---|---|---|---|
"""

EDGES = """
## At the conditions of the host code

Problems at, below and above each condition that the host code has, or lacks, side by side; `_edges` of each kind in
`emulator/ckgen_emulator/production/` says which those are. A step of K is 64 for bf16gemm, 128 for i8gemm and
gemm_a8w8_m128, 256 for f4gemm; a block of K is 128. *Outside*: memory is touched that is not the
kernel's, whatever the result. What is not right here the host code refuses, or lets through: of GEMMs ckgen's
dispatcher refuses both (`codegen/ckgen/families/gemm/asm_kinds.json`).

| kind | problem | kernels | right | wrong | outside |
|---|---|---|---|---|---|
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2].partition("\n\n")[0])
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    parser.add_argument("--kernel", default="")
    parser.add_argument("--problem", default="")
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--show", type=int)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--edges", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.out is not None and (chosen.kernel or chosen.problem):
        parser.error("--out is for whole kinds, not with --kernel or --problem")
    if chosen.edges:
        if chosen.out is None:
            parser.error("--edges goes with --out")
        return _edges_alone(chosen.kind, chosen.out)
    wheel = production_wheel()
    ran: dict[str, Any] = {}
    for name in chosen.kind or KINDS:
        files = [file for file in KINDS[name].files(wheel) if chosen.kernel in str(file)]
        ran[name] = _kind(KINDS[name], files, _Asked(chosen.problem, chosen.seeds, chosen.show), wheel)
    if chosen.out is not None:
        _write(chosen.out, ran)
    wrong = [kernel for one in ran.values() for kernel, record in one["kernels"].items() if record["wrong"]]
    for kernel in wrong:
        print("wrong:", kernel)
    return 1 if wrong else 0


@dataclass(frozen=True, slots=True)
class _Asked:
    """The problem (empty: every one), how many seeds, and how many findings of a run to print, None for no run."""

    problem: str
    seeds: int
    show: int | None


def _kind(kind: Kind, files: list[KernelFile], asked: _Asked, wheel: Wheel) -> dict[str, Any]:
    kernels = {}
    for number, file in enumerate(files, 1):
        kernels[str(file)] = record = _kernel(kind, file, asked, wheel)
        if sys.stderr.isatty():
            print(f"\r\033[K{kind.name} {number}/{len(files)} {file}", end="", file=sys.stderr, flush=True)
        print(f"{file}: {'WRONG' if record['wrong'] else 'right'}; {found_in(record['findings'])}", flush=True)
    return {"what": kind.what, "seeds": asked.seeds, "kernels": kernels}


def _kernel(kind: Kind, file: KernelFile, asked: _Asked, wheel: Wheel) -> dict[str, Any]:
    """Problems wrong side by side; those wrong in some order only, with its seed; places of findings by their cause."""
    problems: dict[str, list[Outcome]] = {}
    known = {**kind.problems(file), **(kind.edges(file) if asked.problem else {})}
    for problem in known:
        if asked.problem not in ("", problem):
            continue
        runs = [run_production(kind, file, problem, SIDE_BY_SIDE, wheel=wheel)]
        for seed in range(1, asked.seeds + 1):
            runs.append(run_production(kind, file, problem, replace(SIDE_BY_SIDE, seed=seed, turn=0), wheel=wheel))
        problems[problem] = runs
        if asked.show is not None:
            _show(runs, asked.show)
    edges = {} if asked.problem else _at_edges(kind, file, wheel)
    found = (one for runs in problems.values() for run in runs for one in run.findings)
    places = {(cause_of(one).name, one.address) for one in found}
    wrong = {name: [one.seed for one in runs if not one.right] for name, runs in problems.items()}
    return {
        "problems": len(problems),
        "wrong": [name for name, seeds in wrong.items() if 0 in seeds],
        "wrong_in_some_order": {name: seeds[0] for name, seeds in wrong.items() if seeds and 0 not in seeds},
        "findings": dict(sorted(Counter(cause for cause, _ in places).items())),
        **({"edges": edges} if edges else {}),
    }


def _at_edges(kind: Kind, file: KernelFile, wheel: Wheel) -> dict[str, str]:
    """`outside`: what it touches is not its own, so that what it computes depends on where arrays happen to lie."""
    found = {}
    for name in kind.edges(file):
        run = run_production(kind, file, name, SIDE_BY_SIDE, wheel=wheel)
        outside = any(one.rule == "out_of_bounds" for one in run.findings)
        found[name] = "outside" if outside else "right" if run.right else "wrong"
    return found


def _edges_alone(names: list[str] | None, folder: Path) -> int:
    """Renews the edges of kinds in a document, and nothing else of it."""
    wheel = production_wheel()
    kinds = read(folder / "production.json")["kinds"]
    for name in names or kinds:
        kernels = kinds[name]["kernels"]
        for file in KINDS[name].files(wheel):
            kernels[str(file)]["edges"] = _at_edges(KINDS[name], file, wheel)
    _write(folder, {name: kinds[name] for name in names or kinds})
    return 0


def _show(runs: list[Outcome], most: int) -> None:
    for run in runs:
        how = f"seed {run.seed}" if run.seed else "side by side"
        wrong = sum(one.wrong for one in run.compared)
        print(f"{run.kernel} {run.problem}, {how}: {wrong} elements wrong, {len(run.findings)} findings")
        for one in run.findings[:most]:
            print(
                f"  {one.rule} at {one.address:#x}, group {one.group}, wave {one.wave}: {one.instruction}: {one.what}"
            )


def _write(folder: Path, ran: dict[str, Any]) -> None:
    place = folder / "production.json"
    before = read(place).get("kinds", {})
    kinds = {name: (before | ran)[name] for name in KINDS if name in before or name in ran}
    document: dict[str, Any] = {"schema": SCHEMA, "kinds": kinds, "not_run": _not_run(kinds)}
    write(place, document, page(document), depth=4)


def _not_run(kinds: Mapping[str, Any]) -> list[dict[str, Any]]:
    """By arch, folder and reason."""
    run = {kernel for one in kinds.values() for kernel in one["kernels"]}
    described = {str(file) for kind in KINDS.values() for file in kind.files(production_wheel())}
    counts: Counter[tuple[str, str, str]] = Counter()
    for name in zipfile.ZipFile(wheel_path(load())).namelist():
        path = name.removeprefix("aiter_meta/hsa/").removesuffix(".co")
        if not name.startswith("aiter_meta/hsa/") or not name.endswith(".co") or path in run:
            continue
        arch, _, rest = path.partition("/")
        stem = rest.rpartition("/")[2]
        folder = rest.partition("/")[0] if "/" in rest else stem.partition("_")[0]
        left_out = "of a kind that was left out" if path in described else "no kind describes it"
        why = next((why for start, why in WHY_NOT.items() if stem.startswith(start)), left_out)
        counts[arch, folder, why] += 1
    return [{"arch": a, "folder": f, "why": w, "kernels": n} for (a, f, w), n in sorted(counts.items())]


def page(document: Mapping[str, Any]) -> str:
    """The page of the document."""
    return wrapped("\n".join(_page(document)))


def _page(document: Mapping[str, Any]) -> Iterable[str]:
    kinds = document["kinds"]
    yield HEAD.format(seeds=max(one["seeds"] for one in kinds.values()))
    yield "| kind | what | arch | kernels | right | clean | in any order | findings |"
    yield "|---|---|---|---|---|---|---|---|"
    total = [0, 0, 0, 0]
    rule_of = {cause.name: cause.rule for cause in causes()}
    for name, kind in kinds.items():
        for arch in sorted({kernel.partition("/")[0] for kernel in kind["kernels"]}):
            records = [one for kernel, one in kind["kernels"].items() if kernel.startswith(arch + "/")]
            right = [one for one in records if not one["wrong"]]
            clean = sum(not one["findings"] for one in right)
            ordered = sum(not one["wrong_in_some_order"] for one in right)
            figures = [len(records), len(right), clean, ordered]
            total = [a + b for a, b in zip(total, figures, strict=True)]
            rules = Counter(rule for one in records for rule in sorted({rule_of[cause] for cause in one["findings"]}))
            findings = ", ".join(f"{rule} {count}" for rule, count in rules.most_common())
            yield "| " + " | ".join([name, kind["what"], arch, *map(str, figures), findings or "none"]) + " |"
    yield "| " + " | ".join(["all", "", "", *map(str, total), ""]) + " |"
    yield from _causes(kinds)
    yield "\n## Wrong side by side\n"
    wrong = list(_wrong(kinds))
    yield from wrong or ["None."]
    yield "\n## Wrong in some order only\n"
    yield "Each problem with the first seed whose order shows it: `--kernel`, `--problem` and `--seeds` replay it.\n"
    yield from list(_order(kinds)) or ["None."]
    yield from _edges(kinds)
    yield "\n## Not run\n\n| arch | kernels | how many | why |\n|---|---|---|---|"
    for one in document["not_run"]:
        yield f"| {one['arch']} | {one['folder']} | {one['kernels']} | {one['why']} |"
    yield ""


def _causes(kinds: Mapping[str, Any]) -> Iterable[str]:
    yield CAUSES.removesuffix("\n")
    records = [one for kind in kinds.values() for one in kind["kernels"].values()]
    for cause in causes():
        those = [one for one in records if cause.name in one["findings"]]
        if not those:
            continue
        places = sum(one["findings"][cause.name] for one in those)
        witnessed = {
            Witness.ORDER: sum(bool(one["wrong"] or one["wrong_in_some_order"]) for one in those),
            Witness.RUN: len(those),
            Witness.NONE: 0,
        }[cause.witness]
        pages = ", ".join(f"[{page}](../upstream/{page}.md)" for page in cause.pages)
        figures = (len(those), places, witnessed, len(those) - witnessed)
        yield f"| {cause.name} | {cause.rule} | {' | '.join(map(str, figures))} | {cause.documents} | {pages} |"


def _edges(kinds: Mapping[str, Any]) -> Iterable[str]:
    yield EDGES.removesuffix("\n")
    for name, kind in kinds.items():
        asked = [one["edges"] for one in kind["kernels"].values() if "edges" in one]
        for edge in dict.fromkeys(edge for one in asked for edge in one):
            found = [one[edge] for one in asked if edge in one]
            counts = " | ".join(str(found.count(state)) for state in ("right", "wrong", "outside"))
            yield f"| {name} | {edge} | {len(found)} | {counts} |"


def _wrong(kinds: Mapping[str, Any]) -> Iterable[str]:
    for kind in kinds.values():
        for kernel, record in kind["kernels"].items():
            if record["wrong"]:
                yield f"- `{kernel}`: {', '.join(record['wrong'])}"


def _order(kinds: Mapping[str, Any]) -> Iterable[str]:
    for name, kind in kinds.items():
        found = [
            f"`{kernel}` ({', '.join(f'{problem} {seed}' for problem, seed in record['wrong_in_some_order'].items())})"
            for kernel, record in kind["kernels"].items()
            if record["wrong_in_some_order"]
        ]
        if found:
            yield f"- {name}: {'; '.join(found)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
