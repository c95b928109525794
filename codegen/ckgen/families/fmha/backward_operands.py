"""Exact values of one problem of attention's backward: forward's operands, what it gave, and the gradient of O."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.fmha.enums import FmhaEntry
from ckgen.families.fmha.operands import FmhaOperands, Lengths, make_operands
from ckgen.families.fmha.reference import expect
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape


@dataclass(frozen=True, slots=True)
class BackwardOperands:
    """`forward`'s signature is the backward one. o and dout are [batch, seqlen_q, heads_q, hdim_v], lse is [batch,
    heads_q, seqlen_q]: what forward gave, in the types in which it is read. Rows behind a length do not count."""

    forward: FmhaOperands
    o: Values
    lse: Values
    dout: Values


def forward_signature(signature: FmhaSignature) -> FmhaSignature:
    """That of the forward whose gradients a backward signature computes, with lse."""
    return replace(signature, traits=replace(signature.traits, entry=FmhaEntry.FORWARD, lse=True))


def make_backward_operands(
    signature: FmhaSignature, shape: FmhaShape, seed: int, lengths: Lengths | None = None
) -> BackwardOperands:
    """As `make_operands`, with the O and lse that forward has for them."""
    return backward_of(make_operands(signature, shape, seed, lengths), seed)


def backward_of(operands: FmhaOperands, seed: int) -> BackwardOperands:
    """With random gradients of O, and the O and lse of the operands, rounded to their types."""
    signature, random = operands.signature, np.random.default_rng((seed, 1))
    result = expect(replace(operands, signature=forward_signature(signature)))
    dout = decode(encode(random.uniform(-2.0, 2.0, result.o.c.shape), signature.a))
    return BackwardOperands(
        operands, decode(encode(result.o.c, signature.c)), decode(encode(result.lse.c, DType.FP32)), dout
    )
