"""DeepGEMM's kernels and ours in turns, of 8-bit floats with block scales: single products, and groups whose rows and
scales lie one behind the other in one matrix each, as DeepGEMM takes them.

    python3 benchmarks/gpu/deepgemm_peer.py [ROUNDS]

Each is a captured graph, so that nobody's host time counts; the L2 is swept ahead of each run, times are medians by
events. The same tensors go to both, and results that differ by more than rounding are said and fail. `deep_gemm` is
DeepGEMM's package; `ckgen.jit` builds ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from statistics import geometric_mean, median
from typing import Any

import deep_gemm
import torch

import ckgen

LAYERS = ((4096, 4096), (7168, 2048), (2112, 7168), (24576, 1536), (4096, 14336), (4096, 7168), (7168, 18432))
ROWS = (64, 128, 512, 1024, 4096)
GROUPS = ((4, 4096), (8, 2048), (32, 256))
GROUP_LAYERS = ((4096, 7168), (7168, 2048))
SIGNATURES = ("gemm_fp8_ocp_bf16_rcr_blockscale", "grouped_gemm_fp8_ocp_bf16_rcr_blockscale")
MOST_DIFFERENCE = 1e-2
_SWEPT = 64 << 20  # floats
Call = Callable[[], Any]


def narrow(*sizes: int) -> Any:
    """Of a normal distribution."""
    return torch.randn(*sizes, device="cuda", dtype=torch.bfloat16).to(torch.float8_e4m3fn)


def scales(*sizes: int) -> Any:
    """Around 1."""
    return torch.rand(*sizes, device="cuda") + 0.5


def columns(matrix: Any) -> Any:
    """The same, whose columns are lines of memory."""
    return matrix.t().contiguous().t()


def results(m: int, n: int) -> tuple[Any, Any]:
    """Of ours and of theirs, before they are written."""
    made = torch.full((2, m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    return made[0], made[1]


def captured(call: Call) -> Any:
    """A graph of it, which was run before."""
    with torch.cuda.stream(torch.cuda.Stream()):
        call()
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


class Comparison:
    """Prints a line of each problem, and what came of all."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.swept = torch.zeros(_SWEPT, device="cuda")
        self.ratios: list[float] = []
        self.is_wrong = False

    def compare(self, name: str, ours: Call, theirs: Call, of_ours: Any, of_theirs: Any) -> None:
        """Of one problem."""
        try:
            graphs = [captured(ours), captured(theirs)]
        except (RuntimeError, AssertionError) as error:
            print(f"{name}: {str(error).splitlines()[0]}")
            return
        for one in (of_ours, of_theirs):
            one.fill_(float("nan"))
        for graph in graphs:
            graph.replay()
        torch.cuda.synchronize()
        difference = float((of_ours.float() - of_theirs.float()).norm() / of_theirs.float().norm())
        is_right = difference < MOST_DIFFERENCE
        own, other = self.times(graphs)
        self.ratios.append(other / own)
        self.is_wrong |= not is_right
        print(
            f"{name:24}{own:9.2f} us, DeepGEMM {other:9.2f} us: {other / own:.3f}{'' if is_right else ' WRONG'}",
            flush=True,
        )

    def times(self, graphs: list[Any]) -> list[float]:
        """Microseconds of each, in turns."""
        events: list[list[tuple[Any, Any]]] = [[] for _ in graphs]
        for number in range(self.rounds):
            for at in (0, 1) if number % 2 else (1, 0):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                self.swept.sum()
                begin.record()
                graphs[at].replay()
                end.record()
                events[at].append((begin, end))
        torch.cuda.synchronize()
        return [median(begin.elapsed_time(end) * 1000 for begin, end in of) for of in events]

    def end(self, what: str) -> None:
        """Of the problems since the last end."""
        if self.ratios:
            low, high = min(self.ratios), max(self.ratios)
            mean = geometric_mean(self.ratios)
            print(f"{what}: {len(self.ratios)} problems, geomean {mean:.3f}, worst {low:.3f}, best {high:.3f}")
        self.ratios = []


def single(lib: ckgen.Library, comparison: Comparison, m: int, n: int, k: int) -> None:
    """One product."""
    a, b = narrow(m, k), narrow(n, k)
    of_a, of_b = columns(scales(m, k // 128)), scales(-(-n // 128), k // 128)
    c, d = results(m, n)
    comparison.compare(
        f"{m}x{n}x{k}",
        lambda: lib.gemm(a, b.t(), a_scale=of_a, b_scale=of_b, out=c),
        lambda: deep_gemm.fp8_gemm_nt((a, of_a), (b, of_b), d),
        c,
        d,
    )


def groups(lib: ckgen.Library, comparison: Comparison, count: int, rows: int, n: int, k: int) -> None:
    """Groups of as many rows each; one matrix of A, of its scales and of C."""
    m = count * rows
    a, b = narrow(m, k), narrow(count * n, k).view(count, n, k)
    of_a, of_b = columns(scales(m, k // 128)), scales(count, n // 128, k // 128)
    c, d = results(m, n)
    numbers = torch.arange(count, device="cuda", dtype=torch.int32).repeat_interleave(rows)
    each_b = [one.t() for one in b]
    given: dict[str, Any] = {"a_scale": list(of_a.split(rows)), "b_scale": list(of_b), "out": list(c.split(rows))}
    comparison.compare(
        f"{count}*{rows}x{n}x{k}",
        lambda: lib.grouped(list(a.split(rows)), each_b, **given),
        lambda: deep_gemm.m_grouped_fp8_gemm_nt_contiguous((a, of_a), (b, of_b), d, numbers),
        c,
        d,
    )


def main(rounds: int) -> int:
    """1 where results differ."""
    torch.manual_seed(3)
    lib = ckgen.jit(["gemm", "grouped_gemm"], "native", signatures=SIGNATURES, device_code=True)
    comparison = Comparison(rounds)
    for (n, k), m in product(LAYERS, ROWS):
        single(lib, comparison, m, n, k)
    comparison.end("single")
    for (n, k), (count, rows) in product(GROUP_LAYERS, GROUPS):
        groups(lib, comparison, count, rows, n, k)
    comparison.end("groups")
    return int(comparison.is_wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2] or ["31"])))
