"""A signature's traits as members of ckgen::FmhaTraits, for templates."""

from __future__ import annotations

from ckgen.families.fmha.enums import (
    FmhaBias,
    FmhaDropout,
    FmhaEntry,
    FmhaKv,
    FmhaKvLayout,
    FmhaQuant,
    FmhaRope,
    FmhaTraits,
)

_ENTRY = {FmhaEntry.APPEND: "append", FmhaEntry.BACKWARD: "backward"}
_DROPOUT = {FmhaDropout.PHILOX: "philox", FmhaDropout.RANDVAL: "randval"}
_QUANT = {
    FmhaQuant.PER_TENSOR: "per_tensor",
    FmhaQuant.BLOCKSCALE: "blockscale",
    FmhaQuant.KV_BLOCKSCALE: "kv_blockscale",
}
_KV = {FmhaKv.BLOCK_TABLE: "block_table", FmhaKv.PAGE_LIST: "page_list"}
_LAYOUT = {FmhaKvLayout.VECTORIZED: "vectorized"}
_ROPE = {FmhaRope.INTERLEAVED: "interleaved", FmhaRope.HALF: "half"}
_BIAS = {FmhaBias.ELEMENTWISE: "elementwise", FmhaBias.ALIBI: "alibi"}


def cpp_traits(traits: FmhaTraits) -> list[tuple[str, str]]:
    """Names and values of those that are not at their default, in the struct's order."""

    def flags(*names: str) -> list[tuple[str, str]]:
        return [(name, "true" if getattr(traits, name) else "") for name in names]

    def word(name: str, kind: str, found: str | None) -> tuple[str, str]:
        return name, f"ckgen::{kind}::{found}" if found else ""

    members = [
        word("entry", "FmhaEntry", _ENTRY.get(traits.entry)),
        *flags("varlen", "v_column", "masked"),
        word("bias", "FmhaBias", _BIAS.get(traits.bias)),
        *flags("softcap", "sink", "lse"),
        word("dropout", "FmhaDropout", _DROPOUT.get(traits.dropout)),
        word("quant", "FmhaQuant", _QUANT.get(traits.quant)),
        word("kv", "FmhaKv", _KV.get(traits.kv)),
        word("kv_layout", "FmhaKvLayout", _LAYOUT.get(traits.kv_layout)),
        word("rope", "FmhaRope", _ROPE.get(traits.rope)),
    ]
    return [(name, value) for name, value in members if value]
