"""The Configs that a `configs` block of a kernel set multiplies out to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from ckgen.families.common.set_document import too_many_combinations
from ckgen.families.gemm.config import (
    CkTileConfig,
    CutlassConfig,
    CutlassSchedule,
    Epilogue,
    FmaConfig,
    HipConfig,
    HipKind,
    HostConfig,
    Scheduler,
    TilePipeline,
)
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.located_yaml import Located, Report
from ckgen.model.strategy import Strategy
from ckgen.model.suggestion import nearest_or_all

Reading = Callable[[str], Any]
OfSpace = CkTileConfig | HipConfig | FmaConfig | CutlassConfig | HostConfig


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


def _schedule(text: str) -> CutlassSchedule:
    if text not in (known := [member.value for member in CutlassSchedule]):
        raise ValueError(f"one of {', '.join(known)}")
    return CutlassSchedule(text)


def _scheduler(text: str) -> Scheduler | None:
    if text not in (known := ["default", *(member.value for member in Scheduler)]):
        raise ValueError(f"one of {', '.join(known)}")
    return None if text == "default" else Scheduler(text)


def _host_config(values: Mapping[str, Any]) -> HostConfig:
    (mr, nr), (mc, nc, kc) = values["register"], values["block"]
    strategy = values.get("strategy", Strategy.DATA_PARALLEL)
    return HostConfig(mr, nr, mc, nc, kc, values.get("threads", 0), strategy)


@dataclass(frozen=True, slots=True)
class _Space:
    """The keys of one kind of Config, and what it is made of."""

    readings: Mapping[str, Reading]
    required: tuple[str, ...]
    make: Callable[[Mapping[str, Any]], OfSpace]


_OF_TILES: Mapping[str, Reading] = {
    "tile": _tile,
    "warps": _ints(3),
    "warp_tile": _tile,
    "pipeline": _word(TilePipeline),
    "scheduler": _scheduler,
    "epilogue": _word(Epilogue),
    **{field.name: _flag for field in fields(CkTileConfig) if field.type == "bool"},
    "partitioner_group_num": _count(1),
    "partitioner_m01": _count(1),
    "num_wave_groups": _count(1),
    "vector": _count(0),
    "block_per_cu": _count(1),
    "strategy": _strategy,
}
_OF_FEW_ROWS: Mapping[str, Reading] = {
    "kind": _hip_kind,
    "m": _count(1),
    "n_sub": _count(1),
    "k_splits": _count(1),
    "block_n": _count(1),
}
_OF_CUTLASS: Mapping[str, Reading] = {
    "tile": _tile, "cluster": _ints(2), "schedule": _schedule, "stream_k": _flag, "swap": _flag, "parts": _count(1)
}  # fmt: skip
_OF_HOSTS: Mapping[str, Reading] = {
    "register": _ints(2), "block": _ints(3), "threads": _count(0), "strategy": _strategy
}  # fmt: skip
_SPACES: Mapping[Backend, tuple[_Space, ...]] = {
    Backend.CK_TILE: (
        _Space(_OF_TILES, ("tile", "warps", "warp_tile", "pipeline"), lambda values: CkTileConfig(**values)),
    ),
    Backend.HIP: (
        _Space(_OF_FEW_ROWS, tuple(_OF_FEW_ROWS), lambda values: HipConfig(**values)),
        _Space({"tile": _tile}, ("tile",), lambda values: FmaConfig(**values)),
    ),
    Backend.CUTLASS: (_Space(_OF_CUTLASS, ("tile", "cluster", "schedule"), lambda values: CutlassConfig(**values)),),
    Backend.HOST: (_Space(_OF_HOSTS, ("register", "block"), _host_config),),
}
"""Of each backend its kinds of Config."""


def _space_of(backend: Backend, keys: Iterable[str]) -> _Space:
    """The kind of Config that has most of the keys, the first of two."""
    given = [*keys]
    return max(_SPACES[backend], key=lambda space: sum(key in space.readings for key in given))


def config_products(backend: Backend, block: Located, report: Report) -> Iterator[OfSpace]:
    """Every combination of a block's values; what is wrong goes to `report`, and then nothing is yielded."""
    if not isinstance(block.value, dict):
        report(Diagnostic("K005", "configs must be a mapping of lists", block.location))
        return
    space = _space_of(backend, block.value)
    axes: dict[str, list[Any]] = {}
    bad = False
    for key, node in block.value.items():
        values = _values(backend, key, node, space, report)
        bad = bad or not values
        axes[key] = values
    for key in space.required:
        if key not in axes:
            report(Diagnostic("K004", f"key '{key}' is missing from configs", block.location))
            bad = True
    wrong = too_many_combinations(map(len, axes.values()), block.location)
    if wrong:
        report(wrong)
    elif not bad:
        for combination in product(*axes.values()):
            yield space.make(dict(zip(axes, combination, strict=True)))


def _values(backend: Backend, key: str, node: Located, space: _Space, report: Report) -> list[Any]:
    reading = space.readings.get(key)
    if reading is None:
        hint = nearest_or_all(key, space.readings)
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


@cache
def _legal_values() -> Mapping[str, Mapping[str, list[str]]]:
    data: dict[str, dict[str, list[str]]] = json.loads(
        Path(__file__).with_name("search_space.json").read_text(encoding="utf-8")
    )
    return data
