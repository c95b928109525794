"""What became of an emulated GEMM, and its JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.comparison import Comparison
from ckgen.families.common.sensitivity import Sensitivity
from ckgen_emulator.bindings import stats_of
from ckgen_emulator.gemm.job import Answer
from ckgen_emulator.gemm.problem import GemmProblem


@dataclass(frozen=True, slots=True)
class GemmResult:
    """One kernel and problem. `answer` is None where nothing ran; `trouble` says in sentences what went wrong."""

    kernel: str
    table_name: str
    target: str
    problem: GemmProblem
    answer: Answer | None
    trouble: tuple[str, ...]

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """Of all launches, each with the device kernel's symbol."""
        launches = self.answer.launches if self.answer else ()
        return tuple({"symbol": one["kernel"], **finding} for one in launches for finding in one["findings"])

    @property
    def gpu(self) -> Comparison | None:
        """The emulated kernel's result."""
        return self.answer.gpu if self.answer else None

    @property
    def twin(self) -> Comparison | None:
        """The host twin's."""
        return self.answer.twin if self.answer else None

    @property
    def sensitivity(self) -> Sensitivity | None:
        """How small an error in the emulated kernel's result would have been seen."""
        return self.answer.sensitivity if self.answer else None

    @property
    def ok(self) -> bool:
        """Both results are right, and nothing was found."""
        right = self.gpu is not None and self.gpu.ok and self.twin is not None and self.twin.ok
        return right and not self.findings and not self.trouble

    @property
    def instructions(self) -> int:
        """Executed by waves, in all launches."""
        return sum(one["instructions"] for one in self.answer.launches) if self.answer else 0

    def to_json(self, *, stats: bool = False) -> dict[str, Any]:
        """The document of `ckgen emulate gemm --json`; null for what is not finite or not there."""
        shape, gpu, twin = self.problem.shape, self.gpu, self.twin
        document: dict[str, Any] = {
            "ok": self.ok,
            "kernel": self.kernel,
            "table_name": self.table_name,
            "target": self.target,
            "shape": {"m": shape.m, "n": shape.n, "k": shape.k, "batch": max(shape.batch, 1)},
            "k_batch": self.problem.k_batch,
            "data": self.problem.data.value,
            "seed": self.problem.seed,
            "max_abs_err": _finite(gpu.max_abs_err) if gpu else None,
            "bound": gpu.bound if gpu else None,
            "excess": _finite(gpu.excess) if gpu else None,
            "twin_excess": _finite(twin.excess) if twin else None,
            "sensitivity": _sensitivity(self.sensitivity),
            "wrong": _wrong(gpu),
            "origin": self.answer.origin if self.answer else None,
            "instructions": self.instructions,
            "seconds": round(self.answer.seconds, 3) if self.answer else 0.0,
            "findings": list(self.findings),
            "trouble": list(self.trouble),
        }
        if stats:
            document["stats"] = self.stats()
        return document

    def stats(self) -> dict[str, Any]:
        """Of all launches together, as `stats_of`."""
        launches = self.answer.launches if self.answer else ()
        return stats_of([(one["by_class"], one["counts"], one["occupancy"]) for one in launches])


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _wrong(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None or comparison.first is None:
        return None
    first = comparison.first
    place = {"batch": first.batch, "row": first.row, "column": first.column}
    values = {"expected": _finite(first.expected), "actual": _finite(first.actual)}
    return {"elements": comparison.wrong, "first": {**place, **values}}


def _sensitivity(seen: Sensitivity | None) -> dict[str, Any] | None:
    return None if seen is None else {"median": _finite(seen.median), "worst": _finite(seen.worst)}
