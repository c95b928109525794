"""Runs the cases of AITER's op tests through ckgen.torch.aiter on the CPU, and counts what passes.

python tools/aiter_op_tests.py [--work 1e9] [--library SO --name NAME] [--every 1] [--only FUNCTION]: cases of more
multiplications than `--work` are counted as too large, of one function one in `--every` others is run. A result passes
within the bound of its definition, which is tighter than the tests' own 1 %; of attention its gradients are too.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import ckgen
import ckgen.torch
from aiter_op_attention import run_attention, run_columns, run_paged, run_varlen
from aiter_op_cases import Experts, attentions, columns, layers, pages, products, varlens
from aiter_op_experts import has_no_scheme, run_experts
from aiter_op_products import run_product
from ckgen.families.kernel_sets import kernel_set_files
from ckgen.torch import aiter

_BIASED = ("", "_masked", "_alibi", "_masked_alibi")
_OF_TYPE = (
    *(f"{varlen}{bias}_lse" for varlen in ("", "_varlen") for bias in _BIASED),
    *(f"_bwd{varlen}{bias}" for varlen in ("", "_varlen") for bias in _BIASED),
    *(f"{words}{varlen}_masked{bias}{lse}_dropout" for words, lse in (("", "_lse"), ("_bwd", ""))
      for varlen in ("", "_varlen") for bias in ("", "_alibi")),
    *(f"{bwd}{mask}_elementwise{lse}" for bwd, lse in (("", "_lse"), ("_bwd", "")) for mask in ("", "_masked")),
    "_masked_elementwise_lse_dropout", "_bwd_masked_elementwise_dropout",
    *(f"{mask}{word}_blocktable" for mask in ("", "_masked") for word in ("", "_alibi", "_softcap")),
    "_masked_blocktable_vectorized",
)  # fmt: skip
SIGNATURES = (
    "gemm_int8_bf16_rcr_rowwise", "gemm_int8_fp16_rcr_rowwise", "gemm_fp8_ocp_bf16_rcr_rowwise",
    "gemm_fp8_ocp_fp16_rcr_rowwise", "gemm_fp8_ocp_bf16_rcr_blockscale", "gemm_fp8_ocp_bf16_rcr_blockscale_preshuffle",
    "gemm_int8_bf16_rcr_rowwise_batched", "gemm_bf16_rcr_batched", "gemm_fp4_bf16_rcr_mx_preshuffle",
    "moe_bf16_rcr_*_gated_epi_silu", "moe_bf16_rcr_down",
    *(f"moe_fp8_ocp_bf16_rcr_{quant}_{part}" for quant in ("per_tensor", "rowwise", "blockscale")
      for part in ("*_gated_epi_silu", "down")),
    *(f"fmha_{dtype}{words}" for dtype in ("bf16", "fp16") for words in _OF_TYPE),
)  # fmt: skip
"""What a library of these functions holds, the kernels of attention's rarer options of the set `full` among them."""
Run = tuple[str, Any, Callable[[Any], bool]]


def cases() -> Iterator[Run]:
    """The function's name, a case, and how it is run."""
    for product in products():
        yield product.function, product, run_product
    for name, found, run in (
        ("fused_moe", layers(), run_experts),
        ("flash_attn_func", attentions(), run_attention),
        ("flash_attn_varlen_func", varlens(), run_varlen),
        ("paged_attention_v1", pages(), run_paged),
        ("paged_attention_rocm", columns(), run_columns),
    ):
        for case in found:
            yield name, case, run


def outcome(case: Any, run: Callable[[Any], bool]) -> str:
    """What became of a case."""
    try:
        return "passes" if run(case) else f"WRONG: {case}"
    except aiter.Refused as refusal:
        return f"refused: {refusal}"
    except ckgen.Unsupported as missing:
        rule = re.search(r"\(rule [^)]+\)", str(missing))
        return f"no kernel {rule[0] if rule else missing}"


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=float, default=1e9)
    parser.add_argument("--library")
    parser.add_argument("--name", default="ckgen_jit")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", action="append")
    given = parser.parse_args()
    if given.library:
        lib = ckgen.load(given.library, [given.name], "cpu")
    else:
        ops, rare = ["gemm", "moe", "fmha"], kernel_set_files(Path("full"), ["fmha"])
        lib = ckgen.jit(ops, "native", signatures=SIGNATURES, kernel_sets=rare, device="cpu")
    ckgen.torch.use(lib)
    torch.manual_seed(1)
    counted: Counter[tuple[str, str]] = Counter()
    small: Counter[str] = Counter()
    for name, case, run in cases():
        if given.only and name not in given.only:
            continue
        is_cheap = isinstance(case, Experts) and has_no_scheme(case)
        if case.work > given.work and not is_cheap:
            counted[name, f"not run: more than {given.work:.0e} multiplications"] += 1
            continue
        small[name] += 1
        if small[name] % given.every:
            counted[name, f"not run: one in {given.every} of its size is drawn"] += 1
        else:
            counted[name, outcome(case, run)] += 1
    for (name, what), count in counted.items():
        print(f"{name:34}{count:6}  {what}")


if __name__ == "__main__":
    main()
