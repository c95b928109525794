"""A library whose kernels misbehave, each in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ckgen.fuzz.case import Case
from ckgen.measure.conditions import Conditions, Limits, Place
from ckgen.measure.library import Contents
from ckgen.measure.local import LocalMeasurer
from ckgen.measure.model import Candidate

ACTS = (
    "crashes", "aborts", "loops", "sleeps", "writes_beside", "gives_garbage", "takes_all_memory", "crashes_later",
    "prints", "right",
)  # fmt: skip
"""As in bad_kernels.cpp, by the number of an instance of the unit."""
LIMITS = Limits(seconds=0.2, memory=8 << 30)


@dataclass(frozen=True)
class Bad:
    """The library of that file, and which of its instances does what."""

    library: Path
    contents: Contents
    candidates: dict[str, Candidate]

    def problem(self) -> Case:
        return Case("gemm_fp32_rcr", str(self.contents.target), m=24, n=40, k=4096, seed=3)

    def measurer(self, name: str = "bad", conditions: Conditions | None = None) -> LocalMeasurer:
        conditions = conditions or Conditions(warmup=2)
        return LocalMeasurer(self.library, name, self.contents, Place.HOST, conditions, LIMITS)
