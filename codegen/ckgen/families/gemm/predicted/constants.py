"""Constants that were fitted to tables: data beside this file, and what stands in where none were."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any

from ckgen.families.gemm.predicted.gpu_time import GpuConstants, Own
from ckgen.specs.archs import load_archs

FOLDER = Path(__file__).parent / "fitted"
OF_PIPELINES = ("pipelines", "launches", "tiles", "stores")
FACTORS = (*OF_PIPELINES, "kernels", "splits")
NAMES = tuple(one.name for one in fields(GpuConstants) if one.name not in (*FACTORS, "own"))
LEAST_ROWS = 80
"""To fewer a kind's level is fitted alone, which says nothing of other kinds."""
_BATCHED = "batched_"
_MAY_BE_ZERO = "outside"
_ALWAYS = ("pipelines", "kernels", "splits")


@dataclass(frozen=True, slots=True)
class Fitted:
    """Constants, and what they were fitted to: rows of a module on an arch with that type of A, of these files.

    `sku`: the product, where all rows are of one that they name. `chooses`: on layers held out, kernels ranked best
    take less time than defaults of the least plain cost (docs/selection.md); where only winners' times are known, the
    kernel ranked best of all is the measured winner more often.
    """

    arch: str
    module: str
    operand: str
    constants: GpuConstants
    rows: int
    files: tuple[str, ...]
    chooses: bool
    sku: str = ""

    @property
    def kind(self) -> tuple[str, str, str]:
        """What they are for."""
        return self.arch, self.module, self.operand


@dataclass(frozen=True, slots=True)
class Chosen:
    """Constants, and in words where they come from."""

    constants: GpuConstants
    source: str


@cache
def shipped() -> tuple[Fitted, ...]:
    """All that come with ckgen, by arch and module."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.json")))


def constants_for(arch: str, module: str, operand: str) -> Chosen:
    """The module's own, else those that stand in."""
    own = [one for one in shipped() if one.kind == (arch, module, operand)]
    if own:
        return Chosen(own[0].constants, f"fitted to {own[0].rows} rows of {module}, {operand}, on {arch}")
    return standing_in(arch, module, operand)


def standing_in(arch: str, module: str, operand: str) -> Chosen:
    """Those of the same kernels in or without batches, else `mean_of_others`."""
    twin = module.removeprefix(_BATCHED) if module.startswith(_BATCHED) else f"{_BATCHED}{module}"
    for one in shipped():
        if one.kind == (arch, twin, operand):
            alone = replace(one.constants, kernels={}, splits={}, own={})
            return Chosen(alone, f"those of {one.rows} rows of {twin}, {operand}, on {arch}")
    return mean_of_others(arch, module, operand)


def mean_of_others(arch: str, module: str, operand: str) -> Chosen:
    """The mean of its vendor's other kinds, on whatever archs; of all other kinds for a vendor without any."""
    others = [one for one in shipped() if one.kind != (arch, module, operand) and one.rows >= LEAST_ROWS]
    archs = load_archs()
    alike = [one for one in others if archs[one.arch].vendor is archs[arch].vendor] or others
    source = f"the mean of {len(alike)} other kinds"
    if not any(one.arch == arch for one in alike):
        source += f" on other archs: nothing was measured on {arch}"
    return Chosen(mean(one.constants for one in alike), source)


def fitted_that_chooses(arch: str, module: str, operand: str) -> Fitted | None:
    """The module's own, where kernels are chosen by them."""
    own = [one for one in shipped() if one.kind == (arch, module, operand) and one.chooses]
    return own[0] if own else None


def mean(constants: Iterable[GpuConstants]) -> GpuConstants:
    """The geometric one of each constant; a pipeline's factor is that of those that know it. Kernels are all alike."""
    every = list(constants)
    numbers: dict[str, Any] = {name: _mean([getattr(one, name) for one in every]) for name in NAMES}
    factors: dict[str, Any] = {name: _mean_factors([getattr(one, name) for one in every]) for name in OF_PIPELINES}
    return GpuConstants(**numbers, **factors)


def _mean_factors(factors: Sequence[Mapping[str, float]]) -> dict[str, float]:
    words = sorted({word for one in factors for word in one})
    return {word: _mean([one[word] for one in factors if word in one]) for word in words}


def _mean(values: Sequence[float]) -> float:
    """0 where one is."""
    if min(values) <= 0:
        return 0.0
    return exp(sum(map(log, values)) / len(values))


def document(fitted: Fitted) -> dict[str, Any]:
    """As JSON, with its provenance; what is 0, and factors that none has, left out."""
    found = fitted.constants
    constants = {name: getattr(found, name) for name in NAMES if name != _MAY_BE_ZERO or found.outside}
    factors: dict[str, Any] = {name: dict(getattr(found, name)) for name in FACTORS}
    factors["own"] = {kernel: asdict(own) for kernel, own in found.own.items()}
    return {
        "arch": fitted.arch,
        "module": fitted.module,
        "operand": fitted.operand,
        "chooses": fitted.chooses,
        "fitted": {"rows": fitted.rows, "files": list(fitted.files)} | ({"sku": fitted.sku} if fitted.sku else {}),
        "constants": constants | {name: of for name, of in factors.items() if of or name in _ALWAYS},
    }


def _read(path: Path) -> Fitted:
    found = json.loads(path.read_text(encoding="utf-8"))
    to = found["fitted"]
    kind = (found["arch"], found["module"], found["operand"])
    own = {kernel: Own(**of) for kernel, of in found["constants"].pop("own", {}).items()}
    constants = GpuConstants(**found["constants"], own=own)
    return Fitted(*kind, constants, to["rows"], tuple(to["files"]), found["chooses"], to.get("sku", ""))
