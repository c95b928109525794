"""Operands of a problem that appends, of which every element has only one right value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ckgen.families.elements import Values
from ckgen.families.fmha.append_operands import AppendOperands, make_append_operands
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.fmha_shape import FmhaShape


def exact_append_operands(
    signature: FmhaSignature, shape: FmhaShape, seed: int, before: tuple[int, ...], added: tuple[int, ...]
) -> AppendOperands:
    """Small integers, rotated by quarter turns that differ from position to position, and descales of powers of two.

    Whatever a kernel does to them is exact in fp32, and its result a value of every type.
    """
    like = make_append_operands(signature, shape, seed, before, added)
    random = np.random.default_rng((seed, 12))

    def integers(of: Values) -> Values:
        found: Values = random.integers(1, 8, of.shape) * random.choice((-1.0, 1.0), of.shape)
        return found

    def powers(of: Values | None) -> Values | None:
        if of is None:
            return None
        places = np.indices(of.shape).sum(axis=0) + random.integers(0, 3)
        found: Values = np.exp2(places % 3 - 1.0)
        return found

    found = replace(
        like, q=integers(like.q), k_new=integers(like.k_new), v_new=integers(like.v_new),
        k_descale=powers(like.k_descale), v_descale=powers(like.v_descale), is_exact=True,
    )  # fmt: skip
    if like.rotary is None:
        return found
    quarters = random.integers(0, 4, like.rotary.cos.shape)
    cos, sin = (np.array(turn)[quarters] for turn in ((1.0, 0.0, -1.0, 0.0), (0.0, 1.0, 0.0, -1.0)))
    return replace(found, rotary=replace(like.rotary, cos=cos, sin=sin))
