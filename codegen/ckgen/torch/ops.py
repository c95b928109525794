"""The products, registered with torch.library: kernels, and what they give without running.

Each is a function of this module and `torch.ops.ckgen.<name>`; arguments mean what the method of `ckgen.Library` says.
gemm without scales, bias and epilogue has a backward, which asks the library for the layouts of both gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ckgen.families.gemm.call import c_type
from ckgen.model.errors import UsageError
from ckgen.tensors.dtypes import NAMES, name_of
from ckgen.torch.register import register
from ckgen.torch.state import current


def _gemm(
    a: Tensor,
    b: Tensor,
    a_scale: Tensor | None,
    b_scale: Tensor | None,
    bias: Tensor | None,
    d: Sequence[Tensor],
    epilogue: str,
    alpha: float,
    dtype: str | None,
    quant: str | None,
    preshuffled: bool,
    mx_scale_shuffled: bool,
    signature: str | None,
) -> Tensor:
    words = tuple(epilogue.split())
    found: Tensor = current().gemm(
        a.detach(),
        b.detach(),
        a_scale=a_scale,
        b_scale=b_scale,
        bias=bias,
        d=d,
        epilogue=words,
        alpha=alpha,
        dtype=dtype,
        quant=quant,
        preshuffled=preshuffled,
        mx_scale_shuffled=mx_scale_shuffled,
        signature=signature,
    )
    return found


def _gemm_shape(a: Tensor, b: Tensor, dtype: str | None, signature: str | None) -> Tensor:
    batch = a.shape[:-2] if a.dim() == 3 else b.shape[:-2]
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]), dtype=result_type(a, dtype, signature))


def _grouped(
    a: Sequence[Tensor],
    b: Sequence[Tensor],
    a_scale: Sequence[Tensor],
    b_scale: Sequence[Tensor],
    dtype: str | None,
    quant: str | None,
    signature: str | None,
) -> list[Tensor]:
    return current().grouped(
        list(a),
        list(b),
        a_scale=list(a_scale) or None,
        b_scale=list(b_scale) or None,
        dtype=dtype,
        quant=quant,
        signature=signature,
    )


def _grouped_shape(a: Sequence[Tensor], b: Sequence[Tensor], dtype: str | None, signature: str | None) -> list[Tensor]:
    return [
        x.new_empty((x.shape[0], y.shape[1]), dtype=result_type(x, dtype, signature)) for x, y in zip(a, b, strict=True)
    ]


def _moe(
    a: Tensor,
    w1: Tensor,
    w2: Tensor,
    topk_ids: Tensor,
    topk_weights: Tensor,
    a_scale: Tensor | None,
    w1_scale: Tensor | None,
    w2_scale: Tensor | None,
    activation: str,
    weight_first: bool,
    dtype: str | None,
    quant: str | None,
    preshuffled: bool,
    signature: str | None,
) -> Tensor:
    found: Tensor = current().moe(
        a,
        w1,
        w2,
        topk_ids,
        topk_weights,
        a_scale=a_scale,
        w1_scale=w1_scale,
        w2_scale=w2_scale,
        activation=activation,
        weight_first=weight_first,
        dtype=dtype,
        quant=quant,
        preshuffled=preshuffled,
        signature=signature,
    )
    return found


def _moe_shape(a: Tensor, w2: Tensor, dtype: str | None, signature: str | None) -> Tensor:
    return a.new_empty((a.shape[0], w2.shape[1]), dtype=result_type(a, dtype, signature))


def result_type(a: Tensor, dtype: str | None, signature: str | None) -> torch.dtype:
    """The type of a result, as the library has it."""
    if signature is not None:
        from ckgen.families.gemm.signature import parse_signature

        return _torch_dtype(name_of(parse_signature(signature, None).c))
    known = NAMES[str(a.dtype).removeprefix("torch.")]
    return _torch_dtype(name_of(c_type(None, dtype, known)))


def _said(dtype: torch.dtype | str | None) -> str | None:
    """As an operation's schema has it."""
    return None if dtype is None else str(dtype).removeprefix("torch.")


def _torch_dtype(name: str) -> torch.dtype:
    found: torch.dtype = getattr(torch, name)
    return found


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, a_scale, b_scale, bias, d, epilogue, *_ = inputs
    ctx.is_plain = a_scale is None and b_scale is None and bias is None and not d and not epilogue
    ctx.d_count = len(d)
    ctx.save_for_backward(a, b)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    if not ctx.is_plain:
        raise UsageError("ckgen::gemm has a backward without scales, bias and epilogue alone")
    a, b = ctx.saved_tensors
    rows = gradient.contiguous()
    of_a = gemm(rows, b.mT, dtype=str(a.dtype)) if ctx.needs_input_grad[0] else None
    of_b = gemm(a.mT, rows, dtype=str(b.dtype)) if ctx.needs_input_grad[1] else None
    return of_a, of_b, None, None, None, [None] * ctx.d_count, *([None] * 7)


_GEMM = register("gemm", _gemm, _gemm_shape, _backward, _keep)
_GROUPED = register("grouped", _grouped, _grouped_shape)
_MOE = register("moe", _moe, _moe_shape)


def gemm(
    a: Tensor,
    b: Tensor,
    *,
    a_scale: Tensor | None = None,
    b_scale: Tensor | None = None,
    bias: Tensor | None = None,
    d: Sequence[Tensor] = (),
    epilogue: Sequence[str] = (),
    alpha: float = 1.0,
    dtype: torch.dtype | str | None = None,
    quant: str | None = None,
    preshuffled: bool = False,
    mx_scale_shuffled: bool = False,
    signature: str | None = None,
) -> Tensor:
    """epilogue(a @ b): `ckgen.Library.gemm` for torch.compile and autograd."""
    said = _said(dtype)
    words = " ".join(epilogue)
    found: Tensor = _GEMM(
        a, b, a_scale, b_scale, bias, list(d), words, alpha, said, quant, preshuffled, mx_scale_shuffled, signature
    )  # fmt: skip
    return found


def grouped(
    a: Sequence[Tensor],
    b: Sequence[Tensor],
    *,
    a_scale: Sequence[Tensor] = (),
    b_scale: Sequence[Tensor] = (),
    dtype: torch.dtype | str | None = None,
    quant: str | None = None,
    signature: str | None = None,
) -> list[Tensor]:
    """a[g] @ b[g]: `ckgen.Library.grouped` for torch.compile."""
    said = _said(dtype)
    return list(_GROUPED(list(a), list(b), list(a_scale), list(b_scale), said, quant, signature))


def moe(
    a: Tensor,
    w1: Tensor,
    w2: Tensor,
    topk_ids: Tensor,
    topk_weights: Tensor,
    *,
    a_scale: Tensor | None = None,
    w1_scale: Tensor | None = None,
    w2_scale: Tensor | None = None,
    activation: str = "silu",
    weight_first: bool = False,
    dtype: torch.dtype | str | None = None,
    quant: str | None = None,
    preshuffled: bool = False,
    signature: str | None = None,
) -> Tensor:
    """A layer of experts: `ckgen.Library.moe` for torch.compile."""
    said = _said(dtype)
    scales = (a_scale, w1_scale, w2_scale)
    found: Tensor = _MOE(
        a, w1, w2, topk_ids, topk_weights, *scales, activation, weight_first, said, quant, preshuffled, signature
    )  # fmt: skip
    return found
