"""The GEMM kernels that AMD ships as code objects: asm_kernels.json, with what asm_kinds.json says of their kinds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.shipped_kernel import AsmObject, ShippedKernel
from ckgen.model.config import Tile


@dataclass(frozen=True, slots=True)
class AsmKernel(ShippedKernel):
    """What a GEMM kernel computes (a canonical signature) and asks; `max_splits` is 1 where it does not split K."""

    module: str
    signature: str
    n_multiple: int
    k_multiple: int
    min_k: int
    max_splits: int


@cache
def asm_kernels() -> Mapping[str, AsmKernel]:
    """Every kernel by its symbol, as tables name it."""
    kinds = {kind["kind"]: kind for kind in _read("asm_kinds.json")["kinds"]}
    made = (_kernel(entry, kinds[entry["kind"]]) for entry in _read("asm_kernels.json")["kernels"])
    return {kernel.symbol: kernel for kernel in made}


def asm_kernel_of(config: AsmConfig) -> AsmKernel:
    """The kernel that the Config names; KeyError where nothing does."""
    return _by_config()[config]


@cache
def _by_config() -> Mapping[AsmConfig, AsmKernel]:
    return {kernel.config: kernel for kernel in asm_kernels().values()}


@cache
def _read(file: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))
    return data


def _kernel(entry: Mapping[str, Any], kind: Mapping[str, Any]) -> AsmKernel:
    m, n = entry["tile"]
    notes = [found for found in kind["exceptions"] if f"{m}x{n}" in found["kernels"]]
    return AsmKernel(
        symbol=entry["symbol"],
        config=AsmConfig(kind["kind"], entry["name"], Tile(m, n, kind["tile_k"])),
        module=kind["module"],
        signature=kind["signature"],
        n_multiple=n if any(found.get("whole_n_tiles") for found in notes) else kind["n_multiple"],
        k_multiple=kind["k_multiple"],
        min_k=max((found.get("min_k", 0) for found in notes), default=0),
        max_splits=kind["max_splits"] if entry["splits"] else 1,
        objects=tuple(AsmObject(**found) for found in entry["objects"]),
    )
