"""The texts of GEMMs' Configs read back, as they stand in names of instances."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.name_forms import NameForm, name_form
from ckgen.families.gemm.asm_kernels import asm_kernels
from ckgen.families.gemm.ck_config import CkBlockScaleConfig, CkConfig, CkPreshuffledConfig, CkRowwiseConfig
from ckgen.families.gemm.ck_tile_config import TILE_FLAGS, TILE_INTS, CkTileConfig, Epilogue, TilePipeline
from ckgen.families.gemm.config import GemmConfig, Scheduler
from ckgen.families.gemm.cutlass_config import CutlassConfig, CutlassSchedule
from ckgen.families.gemm.fma_config import FmaConfig
from ckgen.families.gemm.hip_config import HipConfig, HipKind
from ckgen.families.gemm.host_config import HostConfig
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.strategy import Strategy
from ckgen.model.word import Word

_SCHEDULERS = "|".join(map(str, Scheduler))
_BLOCK, _K1 = "{block}x{tile:3}", "{ak1}x{bk1}"
_CLUSTERS = "{a_cluster:3}_{b_cluster:3}_{c_cluster:4}"
_STORES = f"{{cshuffle:2}}_{{scheduler={_SCHEDULERS}}}_v{{pipeline=1|2|3|4|5}}"
_INT = "[1-9][0-9]{0,8}"
_THREADS = "0|[1-9][0-9]{0,8}"


def _words(kind: Iterable[Word]) -> str:
    return "|".join(str(word.value) for word in kind)


_STRATEGY = f"(?:_streamk_(?P<strategy>{_words(one for one in Strategy if one.is_stream_k)}))?"
_HOST = re.compile(f"({_INT})x({_INT})_({_INT})x({_INT})x({_INT})_t({_THREADS}){_STRATEGY}")
_HIP = re.compile(f"mxfp8_({_words(HipKind)})_m({_INT})_n({_INT})x({_INT})_k({_INT})")
_CUTLASS = re.compile(
    f"({_INT})x({_INT})x({_INT})_({_INT})x({_INT})_({_words(CutlassSchedule)})({_INT})?(_sk)?(_swap)?"
)
_FMA = re.compile(f"fma_({_INT})x({_INT})x({_INT})")
_TILE = re.compile(
    f"({_words(TilePipeline)})_({_SCHEDULERS}|default)_({_words(Epilogue)})_pad([01])([01])([01])"
    f"_({_INT}x{_INT}x{_INT})_({_INT}x{_INT}x{_INT})_({_INT}x{_INT}x{_INT})((?:_[a-z0-9]+?)*?){_STRATEGY}"
)


def parse_config(signature: GemmSignature, backend: Backend, text: str) -> GemmConfig | None:
    """The Config of the backend whose `text()` this is; None where there is none for such a signature."""
    readers: Mapping[Backend, Callable[[str], GemmConfig | None]] = {
        Backend.CK: lambda text: _ck(text, preshuffled=signature.preshuffle_b),
        Backend.CK_TILE: _ck_tile, Backend.HIP: _hip, Backend.HOST: _host, Backend.ASM: _asm,
        Backend.CUTLASS: _cutlass,
    }  # fmt: skip
    found = readers[backend](text) if backend in readers else None
    return found if found is not None and found.text() == text else None


def _host(text: str) -> HostConfig | None:
    found = _HOST.fullmatch(text)
    if found is None:
        return None
    mr, nr, mc, nc, kc, threads = map(int, found.groups()[:6])
    return HostConfig(mr, nr, mc, nc, kc, threads, _strategy(found))


def _hip(text: str) -> HipConfig | FmaConfig | None:
    fma = _FMA.fullmatch(text)
    if fma is not None:
        return FmaConfig(Tile(*map(int, fma.groups())))
    found = _HIP.fullmatch(text)
    if found is None:
        return None
    kind, m, n_sub, block_n, k_splits = found.groups()
    return HipConfig(HipKind(kind), int(m), int(n_sub), int(k_splits), int(block_n))


def _cutlass(text: str) -> CutlassConfig | None:
    found = _CUTLASS.fullmatch(text)
    if found is None:
        return None
    m, n, k, cluster_m, cluster_n = map(int, found.groups()[:5])
    schedule, stream_k, swap = CutlassSchedule(found[6]), found[8] is not None, found[9] is not None
    if (schedule is CutlassSchedule.KC) != (found[7] is not None):
        return None
    return CutlassConfig(Tile(m, n, k), (cluster_m, cluster_n), schedule, stream_k, swap, int(found[7] or 1))


def _asm(text: str) -> AsmConfig | None:
    return _shipped().get(text)


@cache
def _shipped() -> Mapping[str, AsmConfig]:
    return {kernel.config.text(): kernel.config for kernel in asm_kernels().values()}


def _ck(text: str, *, preshuffled: bool) -> CkConfig | None:
    forms = _preshuffled_forms() if preshuffled else _plain_forms()
    return next((config for form in forms if (config := form.parse(text)) is not None), None)


@cache
def _plain_forms() -> tuple[NameForm[Any], ...]:
    parts = f"{{xdl:2}}_{{xdl_per_wave:2}}_{_CLUSTERS}"
    return tuple(
        name_form(f"{head}_{parts}_{{c_vector:{lanes}}}_{_STORES}", {}, config, {}, _word)
        for config, head in (
            (CkRowwiseConfig, _BLOCK), (CkBlockScaleConfig, f"{{scale_block:3}}_{_BLOCK}_{_K1}"),
        )
        for lanes in (3, 1)
    )  # fmt: skip


@cache
def _preshuffled_forms() -> tuple[NameForm[Any], ...]:
    tail = f"{_BLOCK}_{_K1}_{{xdl:2}}_{_CLUSTERS}"
    scales: tuple[tuple[str, dict[str, Any]], ...] = (("", {"scale_block": None}), ("{scale_block:3}_", {}))
    packs: tuple[tuple[str, dict[str, Any]], ...] = (("", {"k_pack": 1}), ("_pack{k_pack}", {}))
    return tuple(
        name_form(
            f"{scale}{tail}_{{c_vector:{lanes}}}_{_STORES}{pack}", {}, CkPreshuffledConfig, scaled | packed, _word
        )
        for scale, scaled in scales
        for pack, packed in packs
        for lanes in (3, 1)
    )


def _word(field: str, value: Any) -> Any:
    if field == "scheduler":
        return Scheduler(value)
    return int(value) if field == "pipeline" else value


def _ck_tile(text: str) -> CkTileConfig | None:
    found = _TILE.fullmatch(text)
    if found is None:
        return None
    pipeline, scheduler, epilogue, pad_m, pad_n, pad_k, tile, warps, warp_tile, words = found.groups()[:10]
    extras: dict[str, Any] = {}
    for word in filter(None, words.split("_")):
        said = _of_flag(word) or _of_count(word)
        if said is None:
            return None
        extras |= said
    return CkTileConfig(
        Tile(*_ints(tile)),
        (_ints(warps)[0], _ints(warps)[1], _ints(warps)[2]),
        Tile(*_ints(warp_tile)),
        TilePipeline(pipeline),
        None if scheduler == "default" else Scheduler(scheduler),
        Epilogue(epilogue),
        pad_m == "1",
        pad_n == "1",
        pad_k == "1",
        strategy=_strategy(found),
        **extras,
    )


def _of_flag(word: str) -> dict[str, Any] | None:
    return next(({field: True} for field, known in TILE_FLAGS if known == word), None)


def _of_count(word: str) -> dict[str, Any] | None:
    for field, known, _ in TILE_INTS:
        digits = word.removeprefix(known)
        if digits != word and re.fullmatch(_INT, digits):
            return {field: int(digits)}
    return None


def _ints(text: str) -> list[int]:
    return [int(digits) for digits in text.split("x")]


def _strategy(found: re.Match[str]) -> Strategy:
    return Strategy(found["strategy"]) if found["strategy"] else Strategy.DATA_PARALLEL
