"""The Configs that a `configs` block of a kernel set multiplies out to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from ckgen.families.common.set_document import too_many_combinations
from ckgen.families.gemm.config import CkTileConfig, Epilogue, HipConfig, HipKind, HostConfig, Scheduler, TilePipeline
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.located_yaml import Located, Report
from ckgen.model.strategy import Strategy
from ckgen.model.suggestion import nearest_or_all

Reading = Callable[[str], Any]
OfSpace = CkTileConfig | HipConfig | HostConfig


def _ints(count: int) -> Reading:
    def read(text: str) -> tuple[int, ...]:
        parts = text.split("x")
        if len(parts) != count or not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
            raise ValueError(f"{count} positive integers joined by x")
        return tuple(map(int, parts))

    return read


def _tile(text: str) -> Tile:
    return Tile(*_ints(3)(text))


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def _count(least: int) -> Reading:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and int(text) >= least):
            raise ValueError(f"an integer of at least {least}")
        return int(text)

    return read


def _strategy(text: str) -> Strategy:
    if text not in (known := [member.value for member in Strategy if member is not Strategy.ANY]):
        raise ValueError(f"one of {', '.join(known)}")
    return Strategy(text)


def _word(kind: type[TilePipeline] | type[Epilogue]) -> Reading:
    def read(text: str) -> TilePipeline | Epilogue:
        if text not in (known := [member.value for member in kind]):
            raise ValueError(f"one of {', '.join(known)}")
        return kind(text)

    return read


def _hip_kind(text: str) -> HipKind:
    if text not in (known := [member.value for member in HipKind]):
        raise ValueError(f"one of {', '.join(known)}")
    return HipKind(text)


def _scheduler(text: str) -> Scheduler | None:
    if text not in (known := ["default", *(member.value for member in Scheduler)]):
        raise ValueError(f"one of {', '.join(known)}")
    return None if text == "default" else Scheduler(text)


_FLAGS = {field.name: _flag for field in fields(CkTileConfig) if field.type == "bool"}
_READINGS: Mapping[Backend, Mapping[str, Reading]] = {
    Backend.CK_TILE: {
        "tile": _tile,
        "warps": _ints(3),
        "warp_tile": _tile,
        "pipeline": _word(TilePipeline),
        "scheduler": _scheduler,
        "epilogue": _word(Epilogue),
        **_FLAGS,
        "partitioner_group_num": _count(1),
        "partitioner_m01": _count(1),
        "num_wave_groups": _count(1),
        "vector": _count(0),
        "block_per_cu": _count(1),
        "strategy": _strategy,
    },
    Backend.HIP: {
        "kind": _hip_kind,
        "m": _count(1),
        "n_sub": _count(1),
        "k_splits": _count(1),
        "block_n": _count(1),
    },
    Backend.HOST: {"register": _ints(2), "block": _ints(3), "threads": _count(0), "strategy": _strategy},
}
_REQUIRED = {
    Backend.CK_TILE: ("tile", "warps", "warp_tile", "pipeline"),
    Backend.HIP: ("kind", "m", "n_sub", "k_splits", "block_n"),
    Backend.HOST: ("register", "block"),
}


def config_products(backend: Backend, block: Located, report: Report) -> Iterator[OfSpace]:
    """Every combination of a block's values; what is wrong goes to `report`, and then nothing is yielded."""
    if not isinstance(block.value, dict):
        report(Diagnostic("K005", "configs must be a mapping of lists", block.location))
        return
    readings = _READINGS[backend]
    axes: dict[str, list[Any]] = {}
    bad = False
    for key, node in block.value.items():
        values = _values(backend, key, node, readings.get(key), report)
        bad = bad or not values
        axes[key] = values
    for key in _REQUIRED[backend]:
        if key not in axes:
            report(Diagnostic("K004", f"key '{key}' is missing from configs", block.location))
            bad = True
    wrong = too_many_combinations(map(len, axes.values()), block.location)
    if wrong:
        report(wrong)
    elif not bad:
        for combination in product(*axes.values()):
            yield _config(backend, dict(zip(axes, combination, strict=True)))


def _values(backend: Backend, key: str, node: Located, reading: Reading | None, report: Report) -> list[Any]:
    if reading is None:
        hint = nearest_or_all(key, _READINGS[backend])
        report(Diagnostic("K003", f"unknown key '{key}' for backend {backend}", node.location, hint=hint))
        return []
    if node.value == "*":
        return [reading(text) for text in _legal_values()[backend.value][key]]
    found = []
    for item in node.items():
        try:
            found.append(reading(item.value if isinstance(item.value, str) else ""))
        except ValueError as error:
            report(Diagnostic("K005", f"{key} cannot be {item.value!r}", item.location, hint=f"expected {error}"))
            return []
    if not found:
        report(Diagnostic("K005", f"{key} has no value", node.location))
    return found


def _config(backend: Backend, values: dict[str, Any]) -> OfSpace:
    if backend is Backend.HOST:
        (mr, nr), (mc, nc, kc) = values["register"], values["block"]
        strategy = values.get("strategy", Strategy.DATA_PARALLEL)
        return HostConfig(mr, nr, mc, nc, kc, values.get("threads", 0), strategy)
    if backend is Backend.HIP:
        return HipConfig(**values)
    return CkTileConfig(**values)


@cache
def _legal_values() -> Mapping[str, Mapping[str, list[str]]]:
    data: dict[str, dict[str, list[str]]] = json.loads(
        Path(__file__).with_name("search_space.json").read_text(encoding="utf-8")
    )
    return data
