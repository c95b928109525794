"""Attention's signatures, instances and tables as C++ text."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ckgen.families.common.cpp import backend, boolean, dtype, hex64, identifier, tile, word
from ckgen.families.common.policy import near_gap
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.measured import FmhaRung, FmhaTable
from ckgen.families.fmha.signature import OP, FmhaSignature, FmhaTraits
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType

_NO_CONSTRAINTS = "{0, 0, 0, 0, 0, 1, false}"
"""A ckgen::Constraints that asks nothing."""


def signature_fields(value: FmhaSignature) -> dict[str, str]:
    """The members of a ckgen::Signature; all that a GEMM has are at their defaults."""
    unused = "{}, ckgen::OperandOp::none, ckgen::OperandOp::none, {ckgen::ScaleSides::both, 128, 128}, {}"
    return {
        "op": f"ckgen::Op::{OP}",
        "a": dtype(value.a),
        "b": dtype(value.b),
        "c": dtype(value.c),
        "acc": dtype(DType.FP32),
        "scale": dtype(None),
        "layout": "ckgen::Layout::rcr",
        "quant": "ckgen::Quant::none",
        "preshuffle_b": "false",
        "batched": "false",
        "bias": "false",
        "extras": f",\n    {unused},\n    {traits(value.traits)}",
    }


def traits(value: FmhaTraits) -> str:
    """A ckgen::FmhaTraits."""
    members = (getattr(value, field.name) for field in fields(value))
    return f"{{{', '.join(boolean(one) if isinstance(one, bool) else word(one) for one in members)}}}"


def numbers(value: FmhaConstraints) -> str:
    """A ckgen::FmhaConfig."""
    sizes = (value.m0, value.n0, value.k0, value.n1, value.k1, value.hdim_q, value.hdim_v)
    rest = (value.d_multiple, value.dv_multiple, value.max_splits, value.page_multiple)
    flags = map(boolean, (value.takes_items, value.merge_heads, value.always_combines))
    members = [*map(str, sizes), boolean(value.pad_q), boolean(value.pad_k), *map(str, rest), *flags]
    members.append(str(value.rotary_multiple))
    most = (value.max_page, value.max_rows, value.max_group)
    asked = (value.causal_only, value.needs_keys, value.needs_finite)
    last = () if value.takes_gaps_q and value.topleft_slopes else (value.takes_gaps_q, value.topleft_slopes)
    limits = any((*most, *asked, value.cache_limit, value.max_keys, not value.sink_tokens, last))
    if limits or value.rows_together:
        members.append(str(value.rows_together))
    if limits:
        members += [*map(str, most), *map(boolean, asked)]
        members += [str(value.cache_limit), str(value.max_keys), boolean(value.sink_tokens)]
        members += map(boolean, last)
    return f"{{{', '.join(members)}}}"


def instance_view(instance: FmhaInstance) -> dict[str, Any]:
    """A ckgen::InstanceDesc as its template reads it; what GEMMs ask is at its defaults."""
    config, on_cpu = instance.config, instance.backend is Backend.HOST
    isa = min(instance.archs, key=CPU_LEVELS.index) if on_cpu else "x86_64_v3"
    threads = config.threads if isinstance(config, HostFmhaConfig) else 0
    return {
        "name": identifier(instance.name),
        "id": hex64(instance.id),
        "backend": backend(instance.backend),
        "archs": [identifier(arch) for arch in instance.archs],
        "table_kernel": "",
        "tile": tile(config.macro_tile),
        "constraints": _NO_CONSTRAINTS,
        "twin": "{0, 0, 0, 0, false, false, false}",
        "host": f"{{ckgen::Isa::{identifier(isa)}, 0, 0, 0, 0, 0, {threads}}}",
        "workspace": "ckgen::fmha_workspace_of",
        "launch": "ckgen::launch_fmha",
        "more": f", {{}}, {{0, 0}},\n     {numbers(instance.constraints)}",
    }


def table_view(value: FmhaTable) -> dict[str, Any]:
    """A ckgen::FmhaTable as its template reads it."""
    gap = near_gap()
    return {
        "symbol": identifier(f"{value.target.gfx}_{value.target.cu_num}"),
        "gfx": identifier(value.target.gfx),
        "cu_num": value.target.cu_num,
        "near_add": gap.add,
        "near_factor": gap.factor,
        "rungs": [_rung(rung) for rung in value.rungs],
    }


def _rung(value: FmhaRung) -> dict[str, Any]:
    *sizes, corner, left, right, sink, seqlen_q, seqlen_k = value.key
    word = f"ckgen::FmhaCorner::{'bottom_right' if corner else 'top_left'}"
    return {
        "context": f"{{{', '.join(map(str, (*sizes, word, left, right, sink)))}}}",
        "seqlen_q": seqlen_q,
        "seqlen_k": seqlen_k,
        "instance": value.instance,
        "k_batch": value.k_batch or 0,
    }
