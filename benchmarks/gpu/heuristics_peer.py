"""What NVIDIA's nvMatmulHeuristics chooses, over the fastest kernel of each problem, from the times of a journal.

    python benchmarks/gpu/heuristics_peer.py [JOURNAL.jsonl.xz]     # pip install nvidia-matmul-heuristics

Of bf16, beside what regret.py says of predicted times. It is asked for an H200 and CUTLASS 3, with its internal
discovery; its callback is told which tiles and clusters the journal's unsplit kernels have, but those that share K in a
cluster, which it cannot name. It is asked of C^T too, for kernels that swap, and what it says is faster counts. Where
two schedules have the tile and the cluster of its answer, the faster one counts.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nvMatmulHeuristics
from regret import JOURNAL, layers_of_tables, planned, summary, times_of

from ckgen.families.gemm.cutlass_config import CutlassConfig, CutlassSchedule
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.tuned_row import Shape

SIGNATURE, PRECISION, ANSWERS = "gemm_bf16_rcr", "TST", 8
Place = tuple[int, int, int, int, bool]
"""Rows and columns of a tile, and of a cluster in workgroups, as the kernel has its sides; whether it swaps."""


class Asked:
    """nvMatmulHeuristics, told which kernels exist."""

    def __init__(self, exist: frozenset[tuple[int, ...]]) -> None:
        self._peer = nvMatmulHeuristics.NvMatmulHeuristicsInterface(
            nvMatmulHeuristics.NvMatmulHeuristicsTarget.CUTLASS3,
            precision=PRECISION,
            flags=nvMatmulHeuristics.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
        )
        self._layout = nvMatmulHeuristics.NvMatmulHeuristicsMatmulLayout.NT_ROW_MAJOR
        self._device = self._peer.createHardwareDescriptor()
        self._peer.setHardwarePredefinedGpu(self._device, nvMatmulHeuristics.NvMatmulHeuristicsNvidiaGpu.H200_SXM)
        if not self._peer.loadInternalDiscoverySet(self._layout, self._device):
            raise SystemExit("nvMatmulHeuristics has no internal discovery of this layout")
        self._backend = self._peer.createBackend(nvMatmulHeuristics.NvMatmulHeuristicsTarget.CUTLASS3)

        def exists(kernel: Any, problem: Any) -> int:
            of = kernel.contents
            return int((*of.cta[:2], *of.cluster[:2]) in exist and of.splitK == 1)

        kind = nvMatmulHeuristics.NvMatmulHeuristicsBackendPropertyCallbackKind.KERNEL_ADDITIONAL_VALIDITY_CHECK
        self._peer.setBackendCallbackProperty(self._backend, kind, exists)

    def leave(self) -> None:
        """Not to be asked again. What it holds stays: to destroy it faults in version 0.1.0.27."""
        self._peer.handle = None

    def answers(self, shape: Shape, swap: bool) -> list[tuple[float, Place]]:
        """Estimated seconds and what it chose, best first; of C^T if `swap`."""
        sides = (shape.n, shape.m) if swap else (shape.m, shape.n)
        problem = self._peer.makeNvMatmulHeuristicsProblem(*sides, shape.k, self._layout)
        found = self._peer.getEx(problem, ANSWERS, self._backend, self._device)
        kernels = [(one["runtime"], one["kernel"]) for one in found]
        return [(us, (k.cta_tile_m, k.cta_tile_n, k.cluster_m, k.cluster_n, swap)) for us, k in kernels]


def main(journal: Path = JOURNAL) -> int:
    """0."""
    every = times_of(journal)
    times = {shape: took for (name, _, shape), took in every.items() if name == SIGNATURE}
    (unit,) = (one for one in planned(every).units_of(GemmSignature) if one.signature.canonical() == SIGNATURE)
    places = {one.name: place for one in unit.instances if (place := place_of(one)) is not None}
    asked = Asked(frozenset(place[:4] for place in places.values()))
    tabled = layers_of_tables(unit)
    parts: dict[str, list[float]] = {"of tables": [], "of none": []}
    for shape, took in times.items():
        chosen = choice(asked, shape, {name: us for name, us in took.items() if name in places}, places)
        parts["of tables" if (shape.n, shape.k) in tabled else "of none"].append(chosen / took[""])
    asked.leave()
    for part, lost in parts.items():
        print(f"{SIGNATURE:40} layers {part:10} {summary(lost)}")
    return 0


def place_of(instance: Instance) -> Place | None:
    """None of kernels that it cannot name."""
    config = instance.config
    if not isinstance(config, CutlassConfig) or config.stream_k or config.schedule is CutlassSchedule.KC:
        return None
    return (config.tile.m, config.tile.n, *config.cluster, config.swap)


def choice(asked: Asked, shape: Shape, took: dict[str, float], places: dict[str, Place]) -> float:
    """Microseconds of the first answer that was timed."""
    answers = sorted(asked.answers(shape, swap=False) + asked.answers(shape, swap=True))
    for _, place in answers:
        if alike := [us for name, us in took.items() if places[name] == place]:
            return min(alike)
    raise SystemExit(f"nvMatmulHeuristics has no answer for {shape}")


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
