"""Which elements share a scale, by the shapes of the scales; and what kernels are told of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ckgen.families.common.call import At, Views, need, refuse_beside
from ckgen.families.gemm.enums import (
    MX_K,
    SCALE_BLOCK_K,
    SCALE_BLOCK_N,
    USUAL_SCALE_BLOCK,
    Quant,
    ScaleBlock,
    ScaleSides,
)
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.tensors.dtypes import expect_dtype
from ckgen.tensors.errors import LayoutMismatch, ShapeMismatch
from ckgen.tensors.layout import expect_contiguous
from ckgen.tensors.view import TensorView

E8M0_NAMES = ("float8_e8m0fnu", "uint8")
Sizes = tuple[int, int, int, int]
"""M, N, K, batch (0: none)."""


def ceil_div(size: int, step: int) -> int:
    """Steps that cover a size."""
    return -(-size // step)


def quant_said(word: str) -> Quant:
    """UsageError for no scheme."""
    if word not in [str(quant) for quant in Quant]:
        raise UsageError(f"quant is {word!r}, and schemes are {', '.join(map(str, Quant))}")
    return Quant(word)


def scheme_of(
    said: str | None, scales: tuple[TensorView | None, TensorView | None], sizes: Sizes
) -> tuple[Quant, ScaleBlock]:
    """The one that is said, or the first whose shapes fit; where several fit, all compute the same.

    ShapeMismatch lists what shapes mean.
    """
    of_a, of_b = scales
    if said is not None and quant_said(said) is not Quant.BLOCKSCALE:
        return quant_said(said), USUAL_SCALE_BLOCK
    if said is None and of_a is None and of_b is None:
        return Quant.NONE, USUAL_SCALE_BLOCK
    if of_a is not None and of_b is not None and said is None:
        if of_a.dtype in E8M0_NAMES and of_b.dtype in E8M0_NAMES:
            return Quant.MX, USUAL_SCALE_BLOCK
        for quant in (Quant.PER_TENSOR, Quant.ROWWISE):
            shapes_a, shapes_b = _shapes(quant, USUAL_SCALE_BLOCK, sizes)
            if of_a.shape in shapes_a and of_b.shape in shapes_b:
                return quant, USUAL_SCALE_BLOCK
    for block in _blocks(of_a, of_b):
        shapes_a, shapes_b = _shapes(Quant.BLOCKSCALE, block, sizes)
        if (of_a is None or of_a.shape in shapes_a) and (of_b is None or of_b.shape in shapes_b):
            return Quant.BLOCKSCALE, block
    m, n, k, _ = sizes
    given = " and ".join(f"{one.name} {one.shape}" for one in scales if one is not None)
    raise ShapeMismatch(
        f"{given} fit no scheme of M={m} N={n} K={k}: [1] and [1] of a tensor each, [M] and [N] of rows and columns, "
        f"[M, ceil(K/k)] and [ceil(N/n), ceil(K/k)] of blocks of n x k, "
        f"[M, ceil(K/{MX_K})] and [N, ceil(K/{MX_K})] of e8m0 of mx"
    )


def _blocks(of_a: TensorView | None, of_b: TensorView | None) -> Iterator[ScaleBlock]:
    """Those that signatures know, the usual one first. Two that fit the same shapes have one block along that side."""
    sides = ScaleSides.BOTH if of_a is not None and of_b is not None else ScaleSides.A if of_b is None else ScaleSides.B
    for n in SCALE_BLOCK_N:
        for k in SCALE_BLOCK_K:
            yield ScaleBlock(sides, n, k)


def _shapes(
    quant: Quant, block: ScaleBlock, sizes: Sizes
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Those that A's and B's scales may have."""
    m, n, k, batch = sizes
    many = (batch,) if batch else ()
    if quant is Quant.PER_TENSOR:
        return ((), (1,), (1, 1)), ((), (1,), (1, 1))
    if quant is Quant.ROWWISE:
        return ((*many, m), (*many, m, 1)), ((*many, n), (*many, n, 1), (*many, 1, n))
    if quant is Quant.MX:
        return ((*many, m, ceil_div(k, MX_K)),), ((*many, n, ceil_div(k, MX_K)),)
    groups = ceil_div(k, block.k)
    return ((*many, m, groups),), ((*many, ceil_div(n, block.n), groups),)


def scale_fields(
    signature: GemmSignature, views: Views, m: int, n: int, k: int, batch: int, is_shuffled: bool
) -> dict[str, Any]:
    """The pointers, and which way A's block scales lie; a TensorError where scales are not the signature's."""
    quant, block, why = signature.quant, signature.scale_block, signature.canonical()
    if quant is Quant.NONE:
        refuse_beside(views, ("a_scale", "b_scale"), f"{why} has no scales")
        return {}
    shapes = _shapes(quant, block, (m, n, k, batch))
    fields: dict[str, Any] = {"a_scale_row_major": 1}
    is_blocks = quant is Quant.BLOCKSCALE
    for name, allowed, has in zip(
        ("a_scale", "b_scale"), shapes, (block.of_a or not is_blocks, block.of_b or not is_blocks), strict=True
    ):
        if not has:
            refuse_beside(views, (name,), f"{why} has none on that side")
            continue
        scale = need(views, name, f"{why} reads it")
        expect_dtype(scale, signature.scale or DType.FP32, why)
        is_turned = _check_scale(scale, allowed, quant, is_shuffled, may_turn=is_blocks and name == "a_scale")
        if is_turned:
            fields["a_scale_row_major"] = 0
        fields[name] = At(name)
    return fields


def _check_scale(
    scale: TensorView, allowed: tuple[tuple[int, ...], ...], quant: Quant, is_shuffled: bool, may_turn: bool
) -> bool:
    """Whether it lies transposed."""
    if quant is Quant.MX and is_shuffled:
        rows, groups = allowed[0][-2:]
        wanted = ceil_div(rows, 32) * 32 * ceil_div(groups, 8) * 8
        if scale.size < wanted * (allowed[0][0] if len(allowed[0]) > 2 else 1):
            raise ShapeMismatch(
                f"{scale.name} has {scale.size} shuffled scales, and {wanted} are read, padding included"
            )
    elif scale.shape not in allowed:
        wanted_text = " or ".join(map(str, allowed))
        raise ShapeMismatch(f"{scale.name} has shape {scale.shape}, and {wanted_text} is asked for of {quant} scales")
    if scale.is_contiguous:
        return False
    if may_turn and scale.is_transposed:
        return True
    if may_turn:
        raise LayoutMismatch(
            f"{scale.name}'s strides {scale.strides} are neither rows nor columns without gaps: copy it"
        )
    expect_contiguous(scale)
    return False
