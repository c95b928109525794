"""AITER's layer of experts."""

# ruff: noqa: N803
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ckgen.torch import ops
from ckgen.torch.aiter.refused import Refused, refuse, word

_SCHEMES = {
    "No": None,
    "per_Tensor": "per_tensor",
    "per_Token": "rowwise",
    "per_1x128": "blockscale",
    "per_128x128": "blockscale",
}
"""By the names of AITER's QuantType: the last two are of activations and of weights."""
_GROUP = 128


def fused_moe(
    hidden_states: Tensor,
    w1: Tensor,
    w2: Tensor,
    topk_weight: Tensor,
    topk_ids: Tensor,
    expert_mask: Tensor | None = None,
    activation: Any = "Silu",
    quant_type: Any = "No",
    doweight_stage1: bool = False,
    w1_scale: Tensor | None = None,
    w2_scale: Tensor | None = None,
    a1_scale: Tensor | None = None,
    a2_scale: Tensor | None = None,
    block_size_M: int | None = None,
    dtype: torch.dtype | None = None,
    **others: Any,
) -> Tensor:
    """A layer of experts; enums of AITER are taken by their names, `is_shuffled` of the weights as AITER sets it.

    hidden_states of 16 bits beside weights of 8 are quantised here, as quant_type says; with a1_scale they are already.
    """
    refuse(expert_mask, "expert_mask", "every expert of topk_ids is this process's")
    refuse(a2_scale, "a2_scale", "the layer makes the scales between its products itself")
    for name, value in others.items():
        is_default = value is None or (not isinstance(value, Tensor) and (value in (0, -1) or name == "gate_mode"))
        refuse(None if is_default else value, name, "the layer has no such step")
    kind = word(quant_type)
    if kind not in _SCHEMES:
        raise Refused(f"fused_moe: quant_type {kind}: schemes of ckgen's layers by this call are {', '.join(_SCHEMES)}")
    quant, wide = _SCHEMES[kind], hidden_states.dtype
    if wide != w1.dtype:
        if quant is None or w1.dtype.itemsize != 1 or w1.dtype is torch.uint8:
            raise Refused(f"fused_moe: hidden_states is {wide} and w1 {w1.dtype}, by quant_type {kind}")
        hidden_states, a1_scale = _quantised(hidden_states, w1.dtype, quant)
        dtype = dtype or wide
    return ops.moe(
        hidden_states,
        w1,
        w2,
        topk_ids,
        topk_weight,
        a_scale=a1_scale,
        w1_scale=_of_experts(w1_scale, quant),
        w2_scale=_of_experts(w2_scale, quant),
        activation=word(activation).lower(),
        weight_first=doweight_stage1,
        dtype=dtype,
        quant=quant,
        preshuffled=getattr(w1, "is_shuffled", False),
    )


def _quantised(x: Tensor, dtype: torch.dtype, quant: str) -> tuple[Tensor, Tensor]:
    """The largest magnitude of a group becomes the type's, as AITER quantises."""
    if quant == "blockscale" and x.shape[-1] % _GROUP:
        raise Refused(f"fused_moe: rows of {x.shape[-1]} are no whole groups of {_GROUP}")
    sizes = {"per_tensor": (1, x.numel()), "rowwise": x.shape, "blockscale": (x.shape[0], -1, _GROUP)}
    groups = x.float().reshape(sizes[quant])
    most = torch.iinfo(dtype).max if dtype is torch.int8 else torch.finfo(dtype).max
    scale = groups.abs().amax(-1, keepdim=True) / most
    scale = torch.where(scale == 0, 1.0, scale)
    codes = groups / scale
    codes = codes.round() if dtype is torch.int8 else codes
    return codes.to(dtype).reshape(x.shape), scale.reshape(-1) if quant == "per_tensor" else scale.squeeze(-1)


def _of_experts(scale: Tensor | None, quant: str | None) -> Tensor | None:
    """Without the dimensions of 1 that AITER keeps: [experts], [experts, rows], or as it is."""
    if scale is None or quant not in ("per_tensor", "rowwise"):
        return scale
    return scale.reshape(-1) if quant == "per_tensor" else scale.flatten(1)
