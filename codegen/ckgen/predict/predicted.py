"""What each kernel that can run a problem is predicted to take on a target, measured or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from ckgen.families.gemm.partition import runs
from ckgen.families.gemm.predicted.chip import Chip
from ckgen.families.gemm.predicted.constants import constants_for
from ckgen.families.gemm.predicted.gpu_time import GpuConstants, Sizes, gpu_time
from ckgen.families.gemm.predicted.gpu_work import gpu_work
from ckgen.families.gemm.signature import GemmSignature, module_of
from ckgen.model.arch import ArchKind, levels_of
from ckgen.model.config import Config
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import AnyInstance, AnyUnit
from ckgen.predict.cpu_time import CpuConstants, cpu_counts, cpu_time


@dataclass(frozen=True, slots=True)
class Predicted:
    """A kernel by name, its splits of K, its time in microseconds, and the terms of it by their words.

    `ranked_us`: the time by which it stands among others, its own times a factor that tables told of the kernel.
    """

    instance: str
    k_batch: int
    us: float
    ranked_us: float
    terms: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Model:
    """A chip and the constants of one signature on it; `source` says in words where they come from."""

    chip: Chip
    signature: GemmSignature
    constants: GpuConstants | CpuConstants
    source: str

    def time(self, config: Config, shape: Shape, k_batch: int) -> tuple[float, dict[str, Any]] | None:
        """Microseconds and terms; None for a kernel or types of which nothing is known."""
        if isinstance(self.constants, CpuConstants):
            counts = cpu_counts(self.signature, config, shape, self.chip)
            if counts is None:
                return None
            found = cpu_time(counts, self.chip, self.constants)
            return found.us, found.parts
        work = gpu_work(self.signature, config, self.chip)
        if work is None:
            return None
        terms = gpu_time(work, Sizes(shape.m, shape.n, shape.k, max(shape.batch, 1), k_batch), self.chip,
                         self.constants)  # fmt: skip
        return terms.us, {**asdict(terms), "resident": work.resident}

    def rank_factor(self, config: Config, k_batch: int) -> float:
        """What a kernel's time is multiplied by before it is ranked; 1 on CPUs."""
        return self.constants.rank_factor(config, k_batch) if isinstance(self.constants, GpuConstants) else 1.0


def model_of(chip: Chip, signature: GemmSignature, calibrated: CpuConstants | None = None) -> Model:
    """Of a CPU with the constants given, else those that nothing was measured for."""
    if chip.arch.kind is ArchKind.CPU:
        source = "calibrated on a device" if calibrated is not None else "not calibrated: only the order says something"
        return Model(chip, signature, calibrated or CpuConstants(), source)
    found = constants_for(chip.arch.name, module_of(signature) or "", str(signature.a))
    return Model(chip, signature, found.constants, found.source)


def splits_of(unit: AnyUnit, gfx: str) -> tuple[int, ...]:
    """Splits of K that rows of the arch have, and none."""
    found = {choice.k_batch for table in unit.tables if table.target.gfx == gfx for choice in table.choices}
    return tuple(sorted({max(splits, 1) for splits in found} | {1}))


def predicted(
    model: Model, instances: Iterable[AnyInstance], shape: Shape, splits: Sequence[int], globs: Sequence[str] = ()
) -> list[Predicted]:
    """Every instance of the chip's that can run the problem, in each of these splits, the best ranked first."""
    archs, cu_num = levels_of(model.chip.arch.name), model.chip.cu_num
    found = []
    for instance in instances:
        if not set(archs) & set(instance.archs) or not _is_meant(instance.name, globs):
            continue
        for k_batch in splits:
            if runs(instance, shape, k_batch, cu_num) is None:
                time = model.time(instance.config, shape, k_batch)
                if time is not None:
                    us, terms = time
                    ranked = us * model.rank_factor(instance.config, k_batch)
                    found.append(Predicted(instance.name, k_batch, us, ranked, terms))
    return sorted(found, key=lambda one: (one.ranked_us, one.instance, one.k_batch))


def _is_meant(name: str, globs: Sequence[str]) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)
