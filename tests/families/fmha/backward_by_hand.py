"""Forward attention in float64 from its formulas alone, for those who ask it for gradients: by finite differences, or
by torch. `xp` is numpy or torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ckgen.families.fmha.backward_operands import BackwardOperands, forward_signature
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner
from ckgen.families.fmha.operands import FmhaOperands, make_operands
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.fmha_shape import FmhaShape

SIGNATURES = (
    "fmha_fp32_bwd",
    "fmha_bf16_bwd_varlen_masked",
    "fmha_fp16_bwd_masked_elementwise_sink",
    "fmha_fp32_bwd_varlen_masked_alibi_dropout",
    "fmha_bf16_bwd_masked_softcap_randval",
    "fmha_fp32_bwd_varlen_masked_softcap_sink_dropout",
    "fmha_fp32_bwd_elementwise_randval",
)
MASKS = ((FmhaCorner.BOTTOM_RIGHT, -1, 0, 0), (FmhaCorner.TOP_LEFT, 5, 3, 2), (FmhaCorner.BOTTOM_RIGHT, 4, -1, 0))
Inputs = dict[str, Any]


def operands_of(text: str, seed: int) -> FmhaOperands:
    """Small ones: two query heads of a KV head, another head dim of V, a mask of its own."""
    shape = FmhaShape(3, 4, 2, 11, 14, 6, 5, *MASKS[seed % len(MASKS)])
    return make_operands(parse_canonical(text), shape, seed)


def inputs_of(operands: FmhaOperands) -> Inputs:
    """What has a gradient."""
    found: Inputs = {"q": operands.q, "k": operands.k, "v": operands.v}
    if operands.signature.traits.bias is FmhaBias.ELEMENTWISE:
        found["bias"] = operands.bias
    if operands.sink is not None:
        found["sink"] = operands.sink
    return found


def seen(operands: FmhaOperands, b: int) -> np.ndarray[Any, Any]:
    """[length_q, length_k], element by element."""
    shape, queries, keys = operands.shape, operands.lengths.q[b], operands.lengths.k[b]
    shift = keys - queries if shape.corner is FmhaCorner.BOTTOM_RIGHT else 0
    found = np.ones((queries, keys), bool)
    if not operands.signature.traits.masked:
        return found
    for i in range(queries):
        for j in range(keys):
            right = shape.window_right < 0 or j <= i + shift + shape.window_right
            left = shape.window_left < 0 or j >= i + shift - shape.window_left or j < shape.sink_tokens
            found[i, j] = right and left
    return found


def forward(operands: FmhaOperands, inputs: Inputs, xp: Any) -> list[tuple[int, int, Any, Any]]:
    """(sequence, query head, O [length_q, hdim_v], lse [length_q]) of each that has rows and keys that they see."""
    shape, traits = operands.shape, operands.signature.traits
    found = []
    for b, (queries, keys) in enumerate(zip(operands.lengths.q, operands.lengths.k, strict=True)):
        visible = seen(operands, b)
        for h in range(shape.heads_q):
            g = h // (shape.heads_q // shape.heads_k)
            q, k, v = inputs["q"][b, :queries, h], inputs["k"][b, :keys, g], inputs["v"][b, :keys, g]
            s = operands.scale * (q @ k.T)
            if traits.softcap:
                s = operands.softcap * xp.tanh(s / operands.softcap)
            if "bias" in inputs:
                bias = inputs["bias"]
                s = s + bias[b if bias.shape[0] > 1 else 0, h if bias.shape[1] > 1 else 0, :queries, :keys]
            elif operands.bias is not None:
                slope = float(operands.bias[b if operands.bias.shape[0] > 1 else 0, h])
                i, j = np.ogrid[:queries, :keys]
                s = s - xp.asarray(slope * np.abs(i + keys - queries - j))
            # all of a row is finite: what it does not see weighs exactly nothing
            weights = xp.exp(s) * xp.asarray(visible.astype(np.float64))
            total = weights.sum(1)
            if "sink" in inputs:
                total = total + xp.exp(inputs["sink"][h])
            blind = xp.asarray((~visible.any(axis=1)).astype(np.float64))
            p = weights / (total + blind * ("sink" not in inputs))[:, None]
            if operands.dropout is not None:
                kept = operands.dropout.keeps(b, h, shape.heads_q, (queries, keys))
                p = p * xp.asarray(kept * operands.dropout.factor)
            found.append((b, h, p @ v, total))
    return found


def with_results(operands: FmhaOperands, seed: int) -> BackwardOperands:
    """O and lse as exact as float64 has them, so that only the definition of backward is asked."""
    shape = operands.shape
    o = np.zeros((shape.batch, shape.seqlen_q, shape.heads_q, shape.hdim_v))
    lse = np.full((shape.batch, shape.heads_q, shape.seqlen_q), -np.inf)
    for b, h, of_head, total in forward(operands, inputs_of(operands), np):
        o[b, : len(of_head), h] = of_head
        with np.errstate(divide="ignore"):
            lse[b, h, : len(of_head)] = np.log(total)
    dout = np.random.default_rng((seed, 7)).uniform(-2, 2, o.shape)
    assert forward_signature(operands.signature).traits.lse
    return BackwardOperands(operands, o, lse, dout)


def loss(operands: BackwardOperands, inputs: Inputs, xp: Any) -> Any:
    """The sum of dO times O."""
    found = forward(operands.forward, inputs, xp)
    return sum((xp.asarray(operands.dout[b, : len(o), h]) * o).sum() for b, h, o, _ in found)
