"""Cases of AITER's layer of experts, run and held against the definition with its derived bound."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from aiter_op_cases import Experts
from ckgen.families.common.comparison import compare
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.reference import MoeOperands, MoeSize, Weights, expect
from ckgen.model.groups import Routing
from ckgen.torch import aiter
from ckgen.torch.aiter.experts import _quantised

SIGNATURES = {
    "No": "moe_bf16_rcr_layer_gated_epi_silu",
    "per_Tensor": "moe_fp8_ocp_bf16_rcr_per_tensor_layer_gated_epi_silu",
    "per_Token": "moe_fp8_ocp_bf16_rcr_rowwise_layer_gated_epi_silu",
    "per_128x128": "moe_fp8_ocp_bf16_rcr_blockscale_layer_gated_epi_silu",
}
FP8 = torch.float8_e4m3fn
_BLOCK = 128


def run_experts(case: Experts) -> bool:
    """Whether fused_moe gives what the definition says; weights of experts that nobody goes to are zeros."""
    if has_no_scheme(case):
        return refused(case)
    ids = torch.stack([torch.randperm(case.experts)[: case.top_k] for _ in range(case.tokens)]).int()
    used = ids.unique().long()
    weights = torch.rand(case.tokens, case.top_k).softmax(-1)
    x = torch.randn(case.tokens, case.hidden).bfloat16()
    dtype = FP8 if case.weights == "float8" else torch.bfloat16
    sizes = ((2 * case.inter, case.hidden), (case.hidden, case.inter))
    given, scales, exact = [], [], []
    for size in sizes:
        codes, scale, values, of_values = drawn(case, size, len(used), dtype)
        whole = torch.zeros(case.experts, *size, dtype=dtype)
        whole[used] = codes
        given.append(whole)
        full = None if scale is None else torch.ones(case.experts, *scale.shape[1:])
        if full is not None:
            full[used] = scale
        scales.append(full)
        exact.append(Weights(values.mT.numpy(), of_values))
    found = aiter.fused_moe(x, *given, weights, ids, quant_type=case.quant, w1_scale=scales[0], w2_scale=scales[1])
    signature = parse_canonical(SIGNATURES[case.quant])
    a, a_scale = (x, None) if dtype is torch.bfloat16 else _quantised(x, FP8, str(signature.quant))
    local = torch.searchsorted(used, ids.long()).int()
    operands = MoeOperands(
        signature,
        MoeSize(case.tokens, case.inter, case.hidden, Routing(len(used), case.top_k)),
        a.double().numpy(),
        None if a_scale is None else a_scale.double().numpy(),
        exact[0],
        exact[1],
        local.numpy(),
        weights.numpy(),
    )
    return bool(compare(expect(operands, adds_in_c=True), found.double().numpy()).ok)


def has_no_scheme(case: Experts) -> bool:
    """Whether the types alone decide that it is refused."""
    return case.weights in ("fp4", "int4") or case.quant == "per_1x32"


def drawn(
    case: Experts, size: tuple[int, int], count: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor | None, Tensor, np.ndarray | None]:  # type: ignore[type-arg]
    """Weights, their scales as AITER's quantiser leaves them, the weights in fp64, and the scales of the definition."""
    w = torch.randn(count, *size)
    if dtype is torch.bfloat16:
        return w.bfloat16(), None, w.bfloat16().double(), None
    most = torch.finfo(FP8).max
    rows, columns = size
    tiles = {"per_Tensor": (count, 1, rows * columns), "per_Token": (count, rows, columns)}
    groups = w.reshape(tiles.get(case.quant, (count, rows // _BLOCK, _BLOCK, columns // _BLOCK, _BLOCK)))
    axes = (2, 4) if case.quant == "per_128x128" else (2,)
    scale = groups.abs().amax(axes, keepdim=True) / most
    codes = (groups / scale).to(FP8).reshape(w.shape)
    shapes = {"per_Tensor": (count, 1), "per_Token": scale.shape}
    kept = scale.reshape(shapes.get(case.quant, (count, rows // _BLOCK, columns // _BLOCK)))
    of_definition = kept.squeeze(-1) if case.quant == "per_Token" else kept
    return codes, kept, codes.double(), of_definition.double().numpy()


def refused(case: Experts) -> bool:
    """Raises Refused, whatever the sizes are."""
    w = torch.zeros(2, 2, 64, dtype=FP8 if case.weights == "float8" else torch.uint8)
    ids = torch.zeros(1, 1, dtype=torch.int32)
    aiter.fused_moe(torch.zeros(1, 64).bfloat16(), w, w, torch.ones(1, 1), ids, quant_type=case.quant)
    raise AssertionError("fused_moe computed what it has no scheme for")
