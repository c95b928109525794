"""Runs the MX-FP8 kernels for few rows on the emulator, for the per-GPU shapes of MiniMax-M3 at TP1, 2, 4 and 8.

usage: run_mxfp8_matrix.py [--m M,M...] [--columns N] [--experts N,N...] [--threads N] [--out FILE]

Each problem goes to the kernel that the shipped tables and defaults choose for it on gfx950 with 256 CUs; where they
decline it, the kernel with the usual numbers is forced, and the line says why it was declined. It runs through the
dispatcher, under all checks, on data of which only one result is right, and the host twin with it. --columns: only so
many columns of C are computed, by the kernel that is chosen for all of them: a workgroup does the same whatever N is,
and K is whole. --experts: instead, gate_up, down and raw products of so many experts (32, 64, 128 and 256 are EP8, 4, 2
and none), of one row of A and of as many as they take, 40 columns unless told. Prints a line for each; exit code 1
where a result is wrong or something was found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.build.amd.toolchain import load
from ckgen.families.gemm.hip_config import HipKind
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.mxfp8_envelope import config_of
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.query import MoeQuery
from ckgen.families.registry import make_instance
from ckgen.model.groups import Routing
from ckgen.model.selection import NO_WISHES
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.select import select
from ckgen.progress import Progress
from ckgen.specs.archs import load_archs
from ckgen_emulator.gemm.build import default_context
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import GemmProblem
from ckgen_emulator.gemm.result import GemmResult
from ckgen_emulator.gemm.runtime import build_runtime

TARGET = Target("gfx950", 256)
DENSE = "gemm_fp8_ocp_bf16_rcr_mx"
GATE_UP, DOWN = "moe_fp8_ocp_bf16_rcr_mx_gate_up_gated_epi_silu", "moe_fp8_ocp_bf16_rcr_mx_down"
RAW, WEIGHTED = "moe_fp8_ocp_bf16_rcr_mx_gate_up", "moe_fp8_ocp_bf16_rcr_mx_gate_up_weightfirst"
"""Sums of a product in bf16, a row per slot: A's rows are those of tokens, or with a top_k of 1 those of slots."""
ROWS = (1, 2, 4, 8, 16, 32, 64)
HIDDEN = 6144
TENSOR_PARALLEL = (1, 2, 4, 8)
TOP_K = 4
BLOCK_M = 16


@dataclass(frozen=True, slots=True)
class Case:
    """A problem, N of the one that it is cut from, the kernel that runs it, and why tables and defaults decline it.

    Empty where they chose it.
    """

    signature: str
    problem: GemmProblem
    all_n: int
    instance: Instance
    declined: str

    @property
    def text(self) -> str:
        """For people: what is computed, and by what."""
        shape, routing = self.problem.shape, self.problem.routing
        experts = f" experts={routing.experts} top_k={routing.top_k}" if routing.experts else ""
        how = f"forced, declined: {self.declined}" if self.declined else "chosen"
        name = self.signature.removeprefix("moe_fp8_ocp_bf16_rcr_mx_").removeprefix("gemm_fp8_ocp_bf16_rcr_")
        n = f"N={self.all_n}" + (f" ({shape.n} of it)" if shape.n != self.all_n else "")
        return f"{name} M={shape.m} {n} K={shape.k}{experts}  {self.instance.config.text()}  {how}"


def dense_shapes() -> tuple[tuple[int, int], ...]:
    """(K, N) of qkv, gate_up, o_proj and down: 15, as gate_up and down are one at TP1."""
    at_tp4 = ((HIDDEN, 2304), (HIDDEN, 1536), (2048, HIDDEN), (1536, HIDDEN))
    found = dict.fromkeys(
        (k, n * 4 // tp) if k == HIDDEN else (k * 4 // tp, n) for tp in TENSOR_PARALLEL for k, n in at_tp4
    )
    return tuple(found)


def plan(*signatures: str) -> GenerationPlan:
    """Over the shipped tables of these kernels."""
    ops, tables = frozenset({"gemm", "moe"}), (paths.tuning_dir() / "ckgen",)
    options = PlanOptions(targets=(TARGET,), tuning=tables, ops=ops, signatures=signatures)
    return make_plan(options, load_archs())


def dense_cases(rows: Sequence[int], columns: int = 0) -> tuple[Case, ...]:
    """Every number of rows with every shape; of N at most `columns` where that is not 0."""
    of, signature = plan(DENSE), parse_canonical(DENSE)
    cases = []
    for m in rows:
        for k, n in dense_shapes():
            found = select(GemmQuery(of, TARGET, signature, Shape(0, m, n, k)))
            usual = config_of(HipKind.MFMA, m, 0, 0)
            assert found.instance is not None or usual is not None, (m, n, k, found.reason)
            instance = found.instance or make_instance(signature, usual, archs=("gfx950",))
            shape = Shape(0, m, min(n, columns or n), k)
            cases.append(Case(DENSE, GemmProblem(shape, seed=m + n), n, instance, found.reason))
    return tuple(cases)


@dataclass(frozen=True, slots=True)
class Product:
    """N and K, experts per row of A, and the most routed rows of few experts and of 128."""

    signature: str
    n: int
    k: int
    top_k: int
    few: int
    many: int


PRODUCTS = (
    Product(GATE_UP, 768, HIDDEN, TOP_K, 16, 64), Product(GATE_UP, 384, HIDDEN, TOP_K, 16, 64),
    Product(DOWN, HIDDEN, 768, TOP_K, 8, 8),
    Product(RAW, 1536, HIDDEN, TOP_K, 16, 64), Product(RAW, 768, HIDDEN, TOP_K, 16, 64),
    Product(RAW, HIDDEN, 768, 1, 8, 8), Product(WEIGHTED, HIDDEN, 768, 1, 8, 8),
)  # fmt: skip
"""gate_up of TP4 and TP8 and down of TP4, with what is behind a product and without it."""


def expert_cases(columns: int, shares: Sequence[int] = (32, 64, 128, 256)) -> tuple[Case, ...]:
    """Every product of each share of 256 experts, of one row of A and of as many as it takes."""
    of = plan(*{product.signature for product in PRODUCTS})
    cases = []
    for experts in shares:
        for one in PRODUCTS:
            most = one.many if experts >= 128 else one.few
            for tokens in (1, most // one.top_k):
                routing, signature = Routing(experts, one.top_k), parse_canonical(one.signature)
                asked = MoeQuery(of, TARGET, signature, Shape(0, tokens, one.n, one.k), NO_WISHES, routing, BLOCK_M)
                found = select(asked)
                if found.instance is None:
                    print(f"declined  {one.signature} {asked.sizes_text()}: {found.reason}")
                    continue
                shape = Shape(0, tokens, min(one.n, columns), one.k)
                problem = GemmProblem(shape, seed=tokens + experts, routing=routing, block_m=BLOCK_M)
                cases.append(Case(one.signature, problem, one.n, found.instance, ""))
    return tuple(cases)


def requests(cases: Iterable[Case]) -> tuple[Request, ...]:
    """One for each case."""
    return tuple(Request(GemmKernel(one.instance, TARGET.gfx, ()), TARGET.cu_num, (one.problem,)) for one in cases)


def line_of(case: Case, result: GemmResult) -> str:
    """What came of a case."""
    seconds = result.answer.seconds if result.answer else 0
    what = "ok" if result.ok else f"WRONG {result.trouble} {result.findings[:1]} {result.gpu}"
    return f"{what}  {case.text}  {result.instructions} instructions in {seconds:.2f} s"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("usage: ")[2].partition("\n")[0])
    parser.add_argument("--m", default=",".join(map(str, ROWS)))
    parser.add_argument("--columns", type=int, default=0)
    parser.add_argument("--experts", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    rows = tuple(map(int, chosen.m.split(",")))
    shares = tuple(map(int, filter(None, chosen.experts.split(","))))
    cases = expert_cases(chosen.columns or 40, shares) if shares else dense_cases(rows, chosen.columns)
    context = default_context(load(), load_archs(), print, Progress())
    runtime = build_runtime(print)
    with ExitStack() as stack:
        out = stack.enter_context(chosen.out.open("a", encoding="utf-8")) if chosen.out else sys.stdout
        bad = 0
        for case in cases:
            (result,) = emulate(requests([case]), runtime, context, RunOptions(threads=chosen.threads))
            bad += not result.ok
            print(line_of(case, result), file=out, flush=True)
    print(f"{len(cases)} cases, {sum(not case.declined for case in cases)} chosen, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
