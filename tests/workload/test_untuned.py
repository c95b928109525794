"""Which of the peer's untuned files a signature's shapes belong to, and what a line of it says."""

from __future__ import annotations

from collections import Counter

import pytest

from ckgen.families.gemm.signature import parse_signature
from ckgen.model.target import Target
from ckgen.workload.shape_list import AskedShape
from ckgen.workload.untuned import untuned_files

DENSE = "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle"
DEVICE = Target("gfx942", 80)


@pytest.mark.parametrize(
    ("signature", "module", "head", "line"),
    [
        ("a8w8:int8", "a8w8", "M,N,K,q_dtype_w", "2,3,4,torch.int8"),
        ("a8w8:int8:fp16", "a8w8", "M,N,K,q_dtype_w", "2,3,4,torch.int8"),
        ("a8w8:fp8_fnuz", "a8w8", "M,N,K,q_dtype_w", "2,3,4,torch.float8_e4m3fnuz"),
        ("a8w8:fp8_ocp", "a8w8", "M,N,K,q_dtype_w", "2,3,4,torch.float8_e4m3fn"),
        ("a8w8_bpreshuffle:fp8_ocp", "a8w8_bpreshuffle", "M,N,K,q_dtype_w", "2,3,4,torch.float8_e4m3fn"),
        ("a8w8_blockscale:fp8_fnuz", "a8w8_blockscale", "M,N,K", "2,3,4"),
        ("a8w8_blockscale_bpreshuffle:fp8_ocp", "a8w8_blockscale_bpreshuffle", "M,N,K", "2,3,4"),
        ("a4w4_blockscale", "a4w4_blockscale", "M,N,K", "2,3,4"),
        ("batched_a8w8", "batched_a8w8", "B,M,N,K", "5,2,3,4"),
        ("batched_bf16", "batched_bf16", "B,M,N,K", "5,2,3,4"),
        ("bf16", "bf16", DENSE, "2,3,4,False,torch.bfloat16,torch.bfloat16,False,False"),
        ("bf16:fp32:bias", "bf16", DENSE, "2,3,4,True,torch.bfloat16,torch.float32,False,False"),
        ("gemm_bf16_rcr_preshuffle", "bf16", DENSE, "2,3,4,False,torch.bfloat16,torch.bfloat16,False,True"),
    ],
)  # fmt: skip
def test_a_signature_has_the_file_that_its_module_s_tuner_reads(
    signature: str, module: str, head: str, line: str
) -> None:
    name = parse_signature(signature, None).canonical()
    files, left_out = untuned_files(Counter({AskedShape(name, 5, 2, 3, 4): 1}), DEVICE)
    assert files == {f"{module}_untuned_gemm_gfx942_80.csv": f"{head}\n{line}\n"} and not left_out


@pytest.mark.parametrize(
    "name",
    [
        "gemm_bf16_rrr", "gemm_int8_bf16_rcr_rowwise_bias", "gemm_fp16_rcr", "gemm_bf8_ocp_bf16_rcr", "gemm_nonsense",
        "gemm_bf16_rcr_epi_relu", "moe_bf16_rcr_layer_gated_epi_silu", "fmha_bf16",
    ],
)  # fmt: skip
def test_what_no_tuner_takes_is_left_out_with_the_reason(name: str) -> None:
    files, left_out = untuned_files(Counter({AskedShape(name, 0, 2, 3, 4): 1}), DEVICE)
    assert not files and left_out == {f"no tuner of AITER's takes {name}": 1}
