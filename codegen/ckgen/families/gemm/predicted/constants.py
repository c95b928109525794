"""Constants that were fitted to tables: data beside this file, and what stands in where none were."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any

from ckgen.families.gemm.predicted.gpu_time import GpuConstants

FOLDER = Path(__file__).parent / "fitted"
FACTORS = ("pipelines", "kernels", "splits")
NAMES = tuple(one.name for one in fields(GpuConstants) if one.name not in FACTORS)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Constants, and what they were fitted to: rows of a module on an arch with that type of A, of these files.

    `orders_defaults`: on layers held out, predicted times took the measured winner among defaults more often than the
    plain cost of docs/selection.md does.
    """

    arch: str
    module: str
    operand: str
    constants: GpuConstants
    rows: int
    files: tuple[str, ...]
    orders_defaults: bool

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
    """The module's own; else the mean of the arch's; else that of all archs."""
    own = [one for one in shipped() if one.kind == (arch, module, operand)]
    if own:
        return Chosen(own[0].constants, f"fitted to {own[0].rows} rows of {module}, {operand}, on {arch}")
    alike = [one for one in shipped() if one.arch == arch]
    if alike:
        return Chosen(mean(one.constants for one in alike), f"the mean of {len(alike)} modules on {arch}")
    every = [one.constants for one in shipped()]
    return Chosen(mean(every), f"the mean of {len(every)} modules on other archs: nothing was measured on {arch}")


def constants_that_order(arch: str, module: str, operand: str) -> GpuConstants | None:
    """The module's own, where defaults are chosen by them."""
    own = [one for one in shipped() if one.kind == (arch, module, operand) and one.orders_defaults]
    return own[0].constants if own else None


def mean(constants: Iterable[GpuConstants]) -> GpuConstants:
    """The geometric one of each constant; a pipeline's factor is that of those that know it. Kernels are not ranked."""
    every = list(constants)
    words = sorted({word for one in every for word in one.pipelines})
    factors = {word: _mean([one.pipelines[word] for one in every if word in one.pipelines]) for word in words}
    numbers: dict[str, Any] = {name: _mean([getattr(one, name) for one in every]) for name in NAMES}
    return GpuConstants(**numbers, pipelines=factors)


def _mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def document(fitted: Fitted) -> dict[str, Any]:
    """As JSON, with its provenance."""
    constants = {name: getattr(fitted.constants, name) for name in NAMES}
    return {
        "arch": fitted.arch,
        "module": fitted.module,
        "operand": fitted.operand,
        "orders_defaults": fitted.orders_defaults,
        "fitted": {"rows": fitted.rows, "files": list(fitted.files)},
        "constants": constants | {name: dict(getattr(fitted.constants, name)) for name in FACTORS},
    }


def _read(path: Path) -> Fitted:
    found = json.loads(path.read_text(encoding="utf-8"))
    to = found["fitted"]
    kind = (found["arch"], found["module"], found["operand"])
    return Fitted(*kind, GpuConstants(**found["constants"]), to["rows"], tuple(to["files"]), found["orders_defaults"])
