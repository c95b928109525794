"""Attention's signatures, instances and tables as C++ text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any

from ckgen.families.common.cpp import (
    boolean,
    described,
    dtype,
    enumerator,
    identifier,
    macro_tile,
    on_archs,
    order,
    said,
    target_symbol,
    word,
)
from ckgen.families.common.policy import near_gap
from ckgen.families.common.unit_view import InstanceView, OwnWords
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.measured import FmhaRung, FmhaTable
from ckgen.families.fmha.signature import OP, FmhaSignature, FmhaTraits
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.backend import Backend

WORDS = OwnWords(
    header="ckgen/describe_fmha.hpp",
    words=("attention", "fmha_config", "fmha_rung", "fmha_table", "k_batch"),
    table="ckgen::FmhaTable",
    rung="ckgen::FmhaRung",
    rungs_are="Lengths of Q and K and who won, then the rest of the problem; "
    "one split of the keys where no k_batch is said.",
)
_PLAIN = FmhaTraits()
_UNSAID: dict[str, bool | int] = {
    "d_multiple": 0,
    "dv_multiple": 0,
    **{field.name: field.default for field in fields(FmhaConstraints) if field.default is not MISSING},
}
"""What a ckgen::FmhaConfig has where no word says it: the same as here."""


def signature_words(value: FmhaSignature) -> list[str]:
    """The words of a ckgen::Signature."""
    words = [f"computes(ckgen::Op::{OP})"]
    words += [word(name, dtype(getattr(value, name))) for name in ("a", "b", "c")]
    return [*words, word("own", traits(value.traits))]


def traits(value: FmhaTraits) -> str:
    """The words of a ckgen::FmhaTraits; nothing that is not asked is said."""
    words = []
    for name in (field.name for field in fields(value)):
        one = getattr(value, name)
        if one != getattr(_PLAIN, name):
            words.append(word(name, *([] if isinstance(one, bool) else [enumerator(one)])))
    return f"attention(){''.join(words)}"


def numbers(value: FmhaConstraints) -> str:
    """The words of a ckgen::FmhaConfig."""
    words = [word("tile_qk", value.m0, value.n0, value.k0), word("tile_v", value.n1, value.k1)]
    words.append(word("hdims", value.hdim_q, value.hdim_v))
    words += [word("pads", boolean(value.pad_q), boolean(value.pad_k))] if value.pad_q or value.pad_k else []
    return f"fmha_config(){''.join((*words, *said({name: getattr(value, name) for name in _UNSAID}, _UNSAID)))}"


def instance_view(instance: FmhaInstance) -> InstanceView:
    """A ckgen::InstanceDesc in words, a line for each."""
    config = instance.config
    lines = [on_archs(instance.archs), macro_tile(config.macro_tile)]
    if instance.backend is Backend.HOST:
        threads = config.threads if isinstance(config, HostFmhaConfig) else 0
        isa = f"host(ckgen::Isa::{identifier(min(instance.archs, key=CPU_LEVELS.index))})"
        lines.append(word("runs_as", f"{isa}{word('threads', threads) if threads else ''}"))
    lines.append(word("own", numbers(instance.constraints)))
    lines += order(instance)
    lines.append(word("launch", "ckgen::launch_fmha", "ckgen::fmha_workspace_of"))
    return InstanceView(*described(instance), lines)


def table_view(value: FmhaTable, instances: Sequence[str]) -> dict[str, Any]:
    """A ckgen::FmhaTable as its template reads it; `instances` are the unit's enumerators."""
    gap, gfx, cu_num = near_gap(), identifier(value.target.gfx), value.target.cu_num
    symbol = target_symbol(value.target)
    product = f', "{value.target.sku}"' if value.target.sku else ""
    return {
        "symbol": symbol,
        "of": f"fmha_table(ckgen::Arch::{gfx}, {cu_num}, {gap.add}, {gap.factor}, {symbol}_rungs{product})",
        "rungs": [_rung(rung, instances[rung.instance]) for rung in value.rungs],
    }


def _rung(value: FmhaRung, winner: str) -> str:
    batch, heads_q, heads_k, hdim_q, hdim_v, page_size, corner, left, right, sink, seqlen_q, seqlen_k = value.key
    splits = [f"k_batch({value.k_batch or 0})"] if value.k_batch != 1 else []
    words = [f"fmha_rung({', '.join((str(seqlen_q), str(seqlen_k), winner, *splits))})"]
    words += [word("batch", batch), word("heads", heads_q, heads_k), word("hdims", hdim_q, hdim_v)]
    words += [word("page_size", page_size)] if page_size else []
    if any((corner, left, right, sink)):
        place = f"ckgen::FmhaCorner::{'bottom_right' if corner else 'top_left'}"
        words.append(word("mask", place, left, right, sink))
    return "".join(words)
