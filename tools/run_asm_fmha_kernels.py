"""Runs AMD's attention kernels as ckgen's instances on the emulator, and says which of the wheel's are none and why.

usage: run_asm_fmha_kernels.py --out FOLDER

Every instance of families/fmha/asm_kernels.json on every arch that it is shipped for: taken from the wheel and gated,
called by its own launcher, run with all checks on small problems, side by side; those of gradients by the dispatcher,
with our stages around them, in several orders of waves. Writes FOLDER/fmha_asm.md. Exit code 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ckgen.build.amd.toolchain import load
from ckgen.families.fmha.asm_kernels import AsmFmhaKernel, asm_fmha_kernels
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.registry import make_instance
from ckgen.specs.archs import load_archs
from ckgen_emulator.fmha.build import build_kernel, compile_units
from ckgen_emulator.fmha.dispatched import dispatched
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.fmha.run import run_fmha
from ckgen_emulator.fmha.shipped_backward import shipped_backward_cases
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.runtime import build_runtime
from ckgen_emulator.production.run import SIDE_BY_SIDE
from ckgen_emulator.production.wheel import KernelFile, Wheel, production_wheel

ARCHS = ("gfx942", "gfx950")
FOLDERS = ("fmha_v3_fwd", "fmha_v3_fwd/MI300", "fmha_v3_fwd/MI308", "fmha_v3_bwd", "mla", "pa")
REASONS = (
    (
        r"fmha_v3_bwd/.*(_a16|_dq_shuffle)",
        "adds to dQ in 16 bits, rounded for each tile of keys: from 4 tiles on beyond the bound",
    ),
    (
        r"gfx950/fmha_v3_bwd/bwd_hd128_.*_causal_",
        "no barrier between two tiles of keys: some orders have a wrong dK",
    ),
    (r"fmha_v3_bwd/.*_a32(_rt[a-z]+)?$", "gradients of whole tiles alone: kernels for any lengths compute them too"),
    (r"mla/", "latent attention, one key for all heads whose first part is the value: no signature has it"),
    (r"fmha_v3_fwd/MI308/", "for 64 and 80 compute units: those for 304 compute the same, and read no number of them"),
    (r"fmha_v3_fwd/.*_rtz", "cuts probabilities towards zero: results are beyond the bound that others keep"),
    (r"fmha_v3_fwd/", "its name says no rounding: AMD's host code does not launch it, and with a mask two are wrong"),
    (r"pa/.*pertokenInt8", "int8 keys and values: no signature has them"),
    (
        r"pa/.*pertokenFp8",
        "a descale per token and KV head: signatures have one per tensor, or one per page and KV head",
    ),
    (r"pa/.*noquant.*_mtp", "a sequence without a row writes rows of another one, and a row that sees no key is wrong"),
)
"""Why a code object is no instance: the first whose form is in its arch and path."""
_SEEDS = 4

HEAD = """# AMD's attention kernels as instances

Written by `tools/run_asm_fmha_kernels.py --out docs/amd/families`. Kernels in assembly of AITER's wheel that op `fmha`
has as instances of backend `asm`: the code object taken by its sha256, gated, called by ckgen's own launcher
(`dispatcher_cpp/backends/asm`) and run with all checks on small problems, waves side by side, against NumPy in double
precision with a derived bound. Gradients (`bwd`) are chosen, planned and run by the C++ dispatcher, with kernels of
ours before and behind, each problem in four orders of waves; kernels that cut towards zero (`rtz`, and fp16 but for
`_own`) have a bound of their own. Nothing here ran on hardware. What was found is in
[asm_fmha_v3_fwd.md](../../upstream/asm_fmha_v3_fwd.md), [asm_fmha_v3_bwd.md](../../upstream/asm_fmha_v3_bwd.md) and
[asm_pa.md](../../upstream/asm_pa.md); other orders of forward kernels are in [production.md](../production.md).

*Gate*: `ok`, or the rules that the code object breaks. *Right*: runs whose every element is within its bound, of all.
*Findings*: what the checks found, and in how many runs.

| kernel | arch | gate | right | findings |
|---|---|---|---|---|
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2].partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args(arguments).out
    lines, wrong = [], 0
    for kernel in asm_fmha_kernels().values():
        for arch in kernel.archs:
            line, missed = _ran(kernel, arch)
            print(line, flush=True)
            lines.append(line)
            wrong += missed
    text = (
        HEAD
        + "\n".join(lines)
        + "\n\n## Not instances\n\n| arch | code objects | how many | why |\n|---|---|---|---|\n"
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / "fmha_asm.md").write_text(text + "\n".join(_absent(production_wheel())) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def problems(kernel: AsmFmhaKernel) -> tuple[FmhaProblem, ...]:
    """One tile, several with rests, shared heads, empty sequences; rows without a key where the kernel has a mask."""
    dims = {"hdim_q": kernel.hdim_q, "hdim_v": kernel.hdim_v}
    tile = kernel.q_tile
    if kernel.is_paged:
        plain = {"page_size": 16, "finite_kv": True, **dims}
        most = 2 * kernel.max_group
        return (
            FmhaProblem((1, 1, 1), (37, 16, 300), most, 2, **plain),
            FmhaProblem((1, 1), (1, 1030), 3, 1, seed=1, **plain),
        )
    if kernel.signatures[0].traits.varlen:
        keys = (66, 100, 7, 0) if kernel.masked else (66, 100, 7, 1)
        return (
            FmhaProblem((tile,), (tile,), **dims),
            FmhaProblem((5, tile + 5, 0, 33), keys, 2, 1, **dims),
            FmhaProblem((70, 2 * tile + 9), (150, 129), 8, 2, seed=1, **dims),
        )
    return (
        FmhaProblem((tile,), (tile,), **dims),
        FmhaProblem((tile + 37, tile + 37), (tile + 101, tile + 101), 4, 2, **dims),
        FmhaProblem((2 * tile + 9,), (77,), 8, 1, head_first=True, seed=1, **dims),
    )


def _ran(kernel: AsmFmhaKernel, arch: str) -> tuple[str, int]:
    """The kernel's row, and how many runs were wrong: of its last signature, that has lse or a mask."""
    instance = make_instance(kernel.signatures[-1], kernel.config, kernel.archs)
    if kernel.goes_back:
        result, outcomes = compile_units(instance, arch).result, _backward(kernel, instance, arch)
    else:
        result, built = build_kernel(instance, arch)
        ran = [run_fmha(built, problem, SIDE_BY_SIDE) for problem in problems(kernel)]
        outcomes = [(one.right, {finding.rule for finding in one.findings}) for one in ran]
    gate = ", ".join(sorted({one.rule for one in result.findings})) or "ok"
    right = sum(is_right for is_right, _ in outcomes)
    found = Counter(rule for _, rules in outcomes for rule in rules)
    said = ", ".join(f"{rule} {count}" for rule, count in sorted(found.items())) or "none"
    return f"| `{kernel.config.name}` | {arch} | {gate} | {right} of {len(outcomes)} | {said} |", len(outcomes) - right


def _backward(kernel: AsmFmhaKernel, instance: FmhaInstance, arch: str) -> list[tuple[bool, set[str]]]:
    """Whether each run was right, and what was found in it."""
    context, runtime = default_context(load(), load_archs(), print, lambda standing: None, 1), build_runtime(print)
    cases = shipped_backward_cases(kernel)
    ran = [dispatched(instance, arch, cases, runtime, context, seed=seed) for seed in range(_SEEDS)]
    return [(one.right, set(one.findings)) for of_seed in ran for one in of_seed]


def _absent(wheel: Wheel) -> Iterator[str]:
    """A row for each arch and reason; ValueError for a code object that has none."""
    taken = {one.path for kernel in asm_fmha_kernels().values() for one in kernel.objects}
    for arch in ARCHS:
        files = [file for folder in FOLDERS for file in wheel.files(arch, folder)]
        left = [file for file in files if f"aiter_meta/hsa/{arch}/{file.path}.co" not in taken]
        why = Counter(_why(file) for file in left)
        folders = {_why(file): file.path.partition("/")[0] for file in left}
        yield from (f"| {arch} | {folders[reason]} | {count} | {reason} |" for reason, count in why.items())


def _why(file: KernelFile) -> str:
    reason = next((reason for form, reason in REASONS if re.search(form, str(file))), None)
    if reason is None:
        raise ValueError(f"nobody says why {file} is no instance")
    return reason


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
