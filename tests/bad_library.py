"""A library whose kernels misbehave, each in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.fuzz.case import Case
from ckgen.measure.conditions import Conditions, Limits, Place
from ckgen.measure.library import Contents
from ckgen.measure.local import LocalMeasurer
from ckgen.measure.model import Candidate
from ckgen.specs.native import own_cpu
from runtime_build import load_generated

ACTS = (
    "crashes", "aborts", "loops", "takes_all_memory", "writes_beside", "right", "does_nothing", "gives_garbage",
    "adds_up", "crashes_later",
)  # fmt: skip
"""As in bad_kernels.cpp, by the number of an instance of the unit; further ones are right."""
KERNELS = Path(__file__).with_name("bad_kernels.yaml")
"""With these, an instance for each act on every CPU."""
LIMITS = Limits(seconds=0.4, memory=8 << 30)


@dataclass(frozen=True)
class Bad:
    """The library of that file, which of its instances does what, and how many there are."""

    library: Path
    contents: Contents
    candidates: dict[str, Candidate]
    count: int

    def problem(self) -> Case:
        return Case("gemm_fp32_rcr", str(self.contents.target), m=24, n=40, k=4096, seed=3)

    def measurer(self, name: str = "bad", conditions: Conditions | None = None) -> LocalMeasurer:
        conditions = conditions or Conditions(warmup=2)
        return LocalMeasurer(self.library, name, self.contents, Place.HOST, conditions, LIMITS)


def build_bad(folder: Path, *kernel_sets: Path) -> Bad:
    """Of the kernels that a build has anyway and those; about a second where the compiler's cache is warm."""
    few_rows = paths.tuning_dir() / "ckgen"
    contents = Contents(own_cpu(), ("gemm", "stream_k"), ("gemm_fp32_rcr",), (few_rows,), kernel_sets)
    plan = contents.space().plan
    load_generated(plan, "good", folder, Path(__file__).with_name("bad_kernels.cpp"))
    (unit,) = plan.units
    named = dict(zip(ACTS, (Candidate(one.name) for one in unit.instances), strict=False))
    return Bad(folder / "libgood_runtime.so", contents, named, len(unit.instances))
