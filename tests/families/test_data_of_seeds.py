"""Data of a seed stay as they are: a case of a fuzz run and a minimised failure are one line, which must repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from ckgen.families.fmha import append_operands, exact_append, exact_operands, operands
from ckgen.families.fmha.signature import parse_canonical as fmha_signature
from ckgen.families.gemm import reference_data
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe import exact_operands as moe_exact
from ckgen.families.moe import reference as moe
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape

SHOWN = 8
GEMMS = (
    "gemm_fp32_rcr", "gemm_bf16_ccr_batched_bias", "gemm_int8_bf16_rcr_rowwise", "gemm_fp8_ocp_bf16_rcr_per_tensor",
    "gemm_fp8_fnuz_bf16_rcr_blockscale", "gemm_fp8_ocp_bf16_rcr_mx", "gemm_fp4_bf16_rcr_mx",
    "gemm_fp16_rrr_epi_add_mul",
)  # fmt: skip
LAYERS = (
    "moe_bf16_rcr_layer_gated_epi_silu", "moe_fp8_ocp_bf16_rcr_per_tensor_layer_epi_relu",
    "moe_int8_bf16_rcr_rowwise_down", "moe_fp4_bf16_rcr_mx_layer_gated_weightfirst_epi_gelu",
)  # fmt: skip
ATTENTION = (
    "fmha_bf16_varlen_masked_alibi_softcap_sink_lse_dropout", "fmha_fp16_elementwise_randval",
    "fmha_fp8_ocp_bf16_pertensor", "fmha_fp8_fnuz_bf16_blockscale",
    "fmha_bf16_fp8_ocp_bf16_varlen_kvblockscale_blocktable",
)  # fmt: skip
APPENDED = ("fmha_bf16_append_varlen_rope_half", "fmha_bf16_fp8_ocp_bf16_append_kvblockscale_blocktable")


def arrays(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, np.ndarray):
        yield f"{name}{list(value.shape)}", value.reshape(-1)[:: max(value.size // SHOWN, 1)][:SHOWN].tolist()
    elif is_dataclass(value) and name != "signature" and name != "shape":
        for field in fields(value):
            yield from arrays(getattr(value, field.name), field.name)
    elif isinstance(value, (float, tuple)) and value:
        yield name, value


def shown(title: str, made: Any) -> str:
    lines = "".join(f"  {name} {values}\n" for name, values in arrays(made, ""))
    return f"{title}\n{lines}"


def shape_of(text: str) -> FmhaShape:
    paged = "table" in text
    return FmhaShape(2, 4, 2, 3, 40, 8, 8, FmhaCorner.BOTTOM_RIGHT, 20, 0, page_size=8 * paged, pages=12 * paged)


def made(texts: tuple[str, ...], makers: tuple[Any, ...], of: Callable[[str], tuple[Any, ...]]) -> Iterator[str]:
    for text in texts:
        for make in makers:
            yield shown(f"{text} {make.__name__}", make(*of(text)))


def gemm(text: str) -> tuple[Any, ...]:
    signature = parse_canonical(text)
    return signature, Shape(2 * signature.batched, 4, 32, 128), 3


def layer(text: str) -> tuple[Any, ...]:
    return parse_canonical(text), moe.MoeSize(3, 32, 64, Routing(3, 2)), 3


def attention(text: str) -> tuple[Any, ...]:
    return fmha_signature(text), shape_of(text), 3


def appended(text: str) -> tuple[Any, ...]:
    return (
        fmha_signature(text),
        replace(shape_of(text), seqlen_new=3, rotary_dim=8 * ("rope" in text)),
        3,
        (5, 9),
        (3, 3),
    )


def everything() -> Iterator[str]:
    yield from made(GEMMS, (reference_data.make_operands, reference_data.make_integers), gemm)
    yield from made(LAYERS, (moe.make_operands, moe_exact.exact_operands), layer)
    yield from made(ATTENTION, (operands.make_operands, exact_operands.exact_operands), attention)
    yield from made(APPENDED, (append_operands.make_append_operands, exact_append.exact_append_operands), appended)


def test_data_of_a_seed_stay_as_they_are(golden: Callable[[str, str], None]) -> None:
    golden("families/data_of_seeds.txt", "".join(everything()))
