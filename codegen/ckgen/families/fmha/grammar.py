"""The texts of attention Configs, and whole instance names, read back."""

from __future__ import annotations

from functools import cache
from typing import Any

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.name_forms import NameForm, name_form
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.asm_kernels import asm_fmha_kernels
from ckgen.families.fmha.backward_config import CkTileBackwardConfig, HipBackwardConfig
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.signature import FmhaSignature, parse_canonical
from ckgen.model.backend import Backend
from ckgen.model.errors import UsageError

_TileConfig = CkTileFmhaConfig | CkTileAppendConfig | CkTileBackwardConfig
_HipConfig = HipFmhaConfig | HipForwardConfig | HipAppendConfig | HipBackwardConfig
_GpuFmhaConfig = _TileConfig | _HipConfig | AsmConfig
AnyFmhaConfig = _GpuFmhaConfig | HostFmhaConfig
_PIPELINES = "|".join(str(pipeline) for pipeline in FmhaPipeline)
_TILE = (
    f"{{pipeline={_PIPELINES}}}_pad{{pad_q?}}{{pad_k?}}{{pad_hdim_q?}}{{pad_hdim_v?}}"
    "_{m0}x{n0}x{k0}x{n1}x{k1}x{k0_max}_{warps:3}_{warp_tile:3}"
)
_HOST = "{m0}x{n0}_t"
_DECODE = "decode_{m0}x{n0}_{hdim_q}x{hdim_v}"
_TILE_APPEND = "append_pad{pad_q?}1{pad_hdim_q?}{pad_hdim_v?}_{m0}x{n0}x{hdim}"
_BACKWARD = "bwd_pad{pad=0|8|1}_{m0}x{n0}x{k4}x{hdim}_{dq_waves}[grouped:_grouped][ordered:_ordered]"
_HIP_APPEND = "append_{rows}"
_HIP_BACKWARD = "bwd_{m0}x{n0}x{hdim}"
_HIP_FORWARD = "fwd_{m0}x{n0}x{hdim}"
_LABELS = {"warps": ["M", "N", "K"], "warp_tile": ["M", "N", "K"]}


def parse_config(backend: Backend, text: str) -> AnyFmhaConfig | None:
    """The Config whose `text()` this is; None where it is none of that backend's."""
    if backend is Backend.HOST:
        found = (form.parse(text) for form in _host_forms())
        return next((config for config in found if config is not None), None)
    if backend is Backend.HIP:
        ours = (form.parse(text) for form in _hip_forms())
        return next((config for config in ours if config is not None), None)
    if backend is Backend.ASM:
        kernel = asm_fmha_kernels().get(text)
        return kernel.config if kernel is not None else None
    if backend is not Backend.CK_TILE:
        return None
    tiles = (form.parse(text) for form in _tile_forms())
    forward = next((config for config in tiles if config is not None), None)
    return forward or _tile_append_form().parse(text) or _backward_form().parse(text)


def parse_instance_name(name: str) -> tuple[FmhaSignature, Backend, AnyFmhaConfig] | None:
    """What an instance's name says; None for a name that no instance has."""
    for backend in (Backend.CK_TILE, Backend.HIP, Backend.HOST, Backend.ASM):
        head, between, tail = name.rpartition(f"_{backend}_")
        config = parse_config(backend, tail) if between else None
        if config is None:
            continue
        try:
            return parse_canonical(head), backend, config
        except UsageError:
            continue
    return None


def describe_config(backend: Backend) -> str:
    """The form of a Config's text for an error hint."""
    if backend is Backend.HOST:
        return "<m0>x<n0>_t<threads>"
    if backend is Backend.HIP:
        first, *more = (form.hint({}, full=True) for form in _hip_forms())
        return f"{first}, or {' or '.join(more)}"
    if backend is Backend.ASM:
        return f"the name of a shipped kernel, such as {next(iter(asm_fmha_kernels()))}"
    usual = _tile_forms()[0].hint(_LABELS, full=True) + "[_bpc<block_per_cu>]"
    others = (_tile_append_form(), _backward_form())
    return f"{usual}, or {' or '.join(form.hint({}, full=True) for form in others)}"


@cache
def _tile_forms() -> tuple[NameForm[CkTileFmhaConfig], ...]:
    usual = name_form(_TILE, {}, CkTileFmhaConfig, {"block_per_cu": 0}, _word)
    return usual, name_form(f"{_TILE}_bpc{{block_per_cu}}", {}, CkTileFmhaConfig, {}, _word)


@cache
def _tile_append_form() -> NameForm[CkTileAppendConfig]:
    return name_form(_TILE_APPEND, {}, CkTileAppendConfig, {}, _word)


@cache
def _backward_form() -> NameForm[CkTileBackwardConfig]:
    return name_form(_BACKWARD, {}, CkTileBackwardConfig, {}, _word)


@cache
def _hip_forms() -> tuple[NameForm[Any], ...]:
    return (
        name_form(_DECODE, {}, HipFmhaConfig, {}, _word),
        name_form(_HIP_APPEND, {}, HipAppendConfig, {}, _word),
        name_form(_HIP_FORWARD, {}, HipForwardConfig, {}, _word),
        name_form(_HIP_BACKWARD, {}, HipBackwardConfig, {}, _word),
    )


@cache
def _host_forms() -> tuple[NameForm[HostFmhaConfig], ...]:
    all_threads = name_form(f"{_HOST}0", {}, HostFmhaConfig, {"threads": 0}, _word)
    return all_threads, name_form(f"{_HOST}{{threads}}", {}, HostFmhaConfig, {}, _word)


def _word(field: str, value: Any) -> Any:
    if field == "pad":
        return int(value)
    return FmhaPipeline(value) if field == "pipeline" else value
