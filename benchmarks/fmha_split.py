"""The split-KV planner against a lower bound, FlashInfer's rule and Composable Kernel's, on simulated devices.

    python benchmarks/fmha_split.py [--batches N] [--seed S]

Random serving batches: lengths of 1 to 64k keys and sizes of 1 to 256 requests, both even in their logarithms; a query
each, or a quarter of the requests with up to all of theirs; causal; pages of 16. Each plan's makespan under the cost
model is divided by the lower bound of its batch; the table has geometric means. The planner's own time is measured by
fmha_split.cpp.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, log, log2
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "codegen"), str(ROOT / "tests")]

from fmha_split_model import Model, lower_bound, makespan, startup_bound  # noqa: E402
from fmha_split_rules import Batch, Device, Workgroups, composable_kernel, flashinfer, unsplit  # noqa: E402
from support import CXX, compiler, cpu_name  # noqa: E402

from ckgen.runtime import RuntimeLibrary  # noqa: E402
from ckgen.runtime.fmha_split import FmhaSplitPlanner, FmhaSplitProblem  # noqa: E402
from cpp_build import SYSTEM_LIBRARIES, dispatcher_archive  # noqa: E402

CU_COUNTS = (80, 228, 256, 304)
PAGE = 16
DECODE_TILE, MIXED_TILE = (16, 64), (64, 64)


@dataclass(frozen=True)
class Case:
    """A batch on a device with the tile that its queries get."""

    batch: Batch
    device: Device
    tile: tuple[int, int]

    @property
    def kind(self) -> str:
        """As in `decode GQA`."""
        heads = "GQA" if self.batch.group > 1 else "MHA"
        return f"{'decode' if max(self.batch.queries) == 1 else 'mixed'} {heads}"


def cases(count: int, seed: int) -> Iterator[Case]:
    """The same ones for the same seed."""
    source = random.Random(seed)
    for index in range(count):
        decode, grouped = index % 2 == 0, index // 2 % 2 == 0
        device = Device(source.choice(CU_COUNTS), source.choice((1, 2)))
        keys = tuple(int(2 ** source.uniform(0, 16)) for _ in range(round(2 ** source.uniform(0, 8))))
        queries = tuple(1 if decode else _queries(source, k) for k in keys)
        heads = (64, 8) if grouped else (32, 32)
        yield Case(Batch(queries, keys, *heads), device, DECODE_TILE if decode else MIXED_TILE)


def _queries(source: random.Random, keys: int) -> int:
    return int(2 ** source.uniform(0, log2(keys))) if source.random() < 0.25 else 1


def problem_of(case: Case) -> FmhaSplitProblem:
    """What the planner is asked."""
    return FmhaSplitProblem(
        heads_q=case.batch.heads_q,
        heads_k=case.batch.heads_k,
        hdim_v=128,
        m0=case.tile[0],
        n0=case.tile[1],
        cu_num=case.device.cu_num,
        occupancy=case.device.occupancy,
        merge_heads=True,
        page_size=PAGE,
        masked=True,
    )


def planned(planner: FmhaSplitPlanner, model: Model, case: Case) -> Workgroups:
    """The plan's workgroups in order; what each costs is the model's."""
    plan = planner.plan(problem_of(case), case.batch.queries, case.batch.keys)
    for item in plan.items:
        cost = model.cost(int(item["kv_end"] - item["kv_begin"]), partial=bool(item["splits"] > 1))
        yield cost, plan.sizes.heads


def ratios(planner: FmhaSplitPlanner, case: Case) -> dict[str, float]:
    """Makespans over the lower bound, by the rule's name; the better of two bounds under `bound`."""
    cost = planner.cost
    model = Model(*case.tile, cost.item_row, cost.partial_row)
    batch, device = case.batch, case.device
    tiles = [columns for request in batch.tiles(model.m0) for columns in request]
    bound = lower_bound(model, tiles, batch.heads_k, device.slots)
    rules: dict[str, Callable[[], Workgroups]] = {
        "ckgen": lambda: planned(planner, model, case),
        "FlashInfer": lambda: flashinfer(model, batch, device, PAGE),
        "CK": lambda: composable_kernel(model, batch, device),
        "unsplit": lambda: unsplit(model, batch, device),
    }
    found = {name: makespan(rule(), device.slots) / bound for name, rule in rules.items()}
    return found | {"bound": max(bound, startup_bound(model, tiles, batch.heads_k, device.slots)) / bound}


def geomean(values: list[float]) -> float:
    """Of positive numbers."""
    return exp(sum(map(log, values)) / len(values))


def load(folder: Path) -> FmhaSplitPlanner:
    """The planner of ckgen's own library."""
    place = folder / "libckgen.so"
    archive = dispatcher_archive()
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run([CXX, "-shared", "-o", str(place), *whole], check=True)
    return RuntimeLibrary(place).fmha_split


def timed(folder: Path) -> str:
    """What the C++ program prints."""
    archive = dispatcher_archive()
    source, program = ROOT / "benchmarks/fmha_split.cpp", folder / "bench"
    include = f"-I{ROOT / 'dispatcher_cpp/include'}"
    sources = [str(source), str(archive), *SYSTEM_LIBRARIES]
    subprocess.run([CXX, "-std=c++17", "-O2", include, "-o", str(program), *sources], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20240607)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        planner = load(Path(folder))
        print(f"{cpu_name()}, {compiler()}\n{timed(Path(folder))}")
        found = [(case, ratios(planner, case)) for case in cases(given.batches, given.seed)]
    names = ("ckgen", "FlashInfer", "CK", "unsplit")
    print(f"makespan / max(total / slots, longest item that cannot be split), {given.batches} batches, geometric means")
    print(f"{'':24}{'batches':>8}" + "".join(f"{name:>12}" for name in names) + f"{'tighter':>12}")
    groups: list[tuple[str, Callable[[Case], bool]]] = [("all", lambda _: True)]
    groups += [(kind, lambda c, kind=kind: c.kind == kind) for kind in sorted({c.kind for c, _ in found})]  # type: ignore[misc]
    groups += [(f"{n} CUs", lambda c, n=n: c.device.cu_num == n) for n in CU_COUNTS]  # type: ignore[misc]
    sizes = ((1, 8), (9, 64), (65, 256))
    groups += [(f"{a} to {b} requests", lambda c, a=a, b=b: a <= len(c.batch.keys) <= b) for a, b in sizes]  # type: ignore[misc]
    for title, is_in in groups:
        own = [r for c, r in found if is_in(c)]
        means = [geomean([r[name] for r in own]) for name in names]
        tighter = geomean([r["ckgen"] / r["bound"] for r in own])
        print(f"{title:24}{len(own):8}" + "".join(f"{mean:12.3f}" for mean in means) + f"{tighter:12.3f}")
    print(f"{'worst':32}" + "".join(f"{max(r[name] for _, r in found):12.2f}" for name in names))
    print("tighter: ckgen over the better of that bound and (columns / slots + constants of one item)")


if __name__ == "__main__":
    main()
