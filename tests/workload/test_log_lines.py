"""Lines of logs, as servers print them, and the problems that they are about."""

from __future__ import annotations

import pytest

from ckgen.model.dtype import Fp8Flavour
from ckgen.model.target import Target
from ckgen.workload.log_lines import shapes_of_log
from ckgen.workload.shape_list import AskedShape

TABLE = "not found tuned config in /tmp/aiter_configs/{}_tuned_gemm.csv, will use default config!"
MOE = "[aiter] [fused_moe] using 2stage default for ({}) "
SHAPE = "shape is M:72, N:512, K:7168, "
BF16 = "shape is M:72, N:512, K:7168 dtype='torch.bfloat16' otype='torch.float32' bias=True, scaleAB=False, "
KEY = "256, 16384, 6144, 384, 257, 9, 'ActivationType.Silu', 'torch.bfloat16', {}, {}, '{}', True, False"
FP8 = "'torch.float8_e4m3fnuz'"


def read(line: str, flavour: Fp8Flavour = Fp8Flavour.FNUZ) -> AskedShape:
    heard = shapes_of_log([line], flavour)
    assert not heard.unread, heard.unread
    (shape,) = heard.missed
    return shape


@pytest.mark.parametrize(
    ("line", "signature"),
    [
        (SHAPE + TABLE.format("a8w8_blockscale"), "gemm_fp8_fnuz_bf16_rcr_blockscale"),
        (
            "(Worker_TP3 pid=118) [aiter] " + SHAPE + TABLE.format("a8w8_blockscale_bpreshuffle"),
            "gemm_fp8_fnuz_bf16_rcr_blockscale_preshuffle",
        ),
        (SHAPE + "q_dtype_w:torch.int8, " + TABLE.format("a8w8"), "gemm_int8_bf16_rcr_rowwise"),
        (
            SHAPE + "q_dtype_w=torch.float8_e4m3fn, " + TABLE.format("a8w8_bpreshuffle"),
            "gemm_fp8_ocp_bf16_rcr_rowwise_preshuffle",
        ),
        (BF16 + "bpreshuffle=False, not found tuned config in /tmp/bf16_tuned_gemm.csv", "gemm_bf16_fp32_rcr_bias"),
    ],
)  # fmt: skip
def test_a_missing_gemm_is_of_its_table_s_module_and_its_own_types(line: str, signature: str) -> None:
    assert read(line) == AskedShape(signature, 0, 72, 512, 7168)


def test_types_that_a_line_leaves_open_are_of_the_device_s_flavour() -> None:
    line = "shape is M:72, N:512, K:7168, " + TABLE.format("a8w8_blockscale")
    assert read(line, Fp8Flavour.OCP).signature == "gemm_fp8_ocp_bf16_rcr_blockscale"


def test_a_missing_batch_is_one() -> None:
    line = "shape is B:16, M:6, N:512, K:128, not found tuned config in /a/bf16_tuned_batched_gemm.csv, will"
    assert read(line) == AskedShape("gemm_bf16_rcr_batched", 16, 6, 512, 128)


@pytest.mark.parametrize(
    ("types", "signature"),
    [
        (("'torch.bfloat16'", "'torch.bfloat16'", "QuantType.No"), "moe_bf16_rcr_preshuffle_layer_gated_epi_silu"),
        ((FP8, FP8, "QuantType.per_1x128"), "moe_fp8_fnuz_bf16_rcr_blockscale_preshuffle_layer_gated_epi_silu"),
    ],
)
def test_a_default_layer_of_experts_is_of_the_key_s_columns(types: tuple[str, str, str], signature: str) -> None:
    assert read(MOE.format(KEY.format(*types))) == AskedShape(signature, 0, 16384, 384, 6144, 257, 9)


@pytest.mark.parametrize("tier", ["heuristic", "far", "other_cu", "default", "unsupported"])
def test_our_own_lines_tell_of_a_miss_where_no_measured_row_answered(tier: str) -> None:
    line = f"ckgen_verbose,v1,select,gemm_bf16_rcr,gfx942:304,b0m16n512k128d/tree,{tier},name,1,-"
    assert read(line) == AskedShape("gemm_bf16_rcr", 0, 16, 512, 128, gfx="gfx942", cu_num=304)


def test_our_own_lines_of_a_product_name_it() -> None:
    line = "ckgen_verbose,v1,select,gemm_bf16_rcr,sm_90a:132:h200,b0m16n512k128,default,name,1,-"
    assert read(line) == AskedShape("gemm_bf16_rcr", 0, 16, 512, 128, gfx="sm_90a", cu_num=132, sku="h200")


def test_our_own_lines_of_experts_have_their_routing() -> None:
    line = "ckgen_verbose,v1,select,moe_x,gfx942:304,b0m16n512k128e8t2s32,default,name,1,-"
    assert read(line) == AskedShape("moe_x", 0, 16, 512, 128, 8, 2, gfx="gfx942", cu_num=304)


def test_our_own_lines_of_attention_have_its_words_but_for_wishes() -> None:
    words = "batch=2 heads_q=8 heads_k=8 seqlen_q=1 seqlen_k=9 hdim_q=64 hdim_v=64 mask=b:-1;0"
    line = f"ckgen_verbose,v1,select,fmha_bf16_masked,gfx942:80,{words} deterministic strategy=tree,default,x,1,-"
    assert read(line) == AskedShape("fmha_bf16_masked", 0, 0, 0, 0, sizes=words, gfx="gfx942", cu_num=80)


def test_lines_that_say_no_device_are_of_the_one_that_wrote_the_log() -> None:
    line = SHAPE + TABLE.format("a8w8_blockscale")
    (shape,) = shapes_of_log([line], Fp8Flavour.FNUZ, Target("gfx942", 80)).missed
    assert shape.target == "gfx942:80"


@pytest.mark.parametrize(
    "line",
    [
        "shape is M:6, N:512, K:128 found padded_M: 8, N:512, K:128 is tuned on cu_num = 304 in a8w8_tuned_gemm.csv",
        MOE.format(KEY.format(FP8, FP8, "QuantType.No")).replace("default", "tuned"),
        "ckgen_verbose,v1,select,gemm_bf16_rcr,gfx942:304,b0m16n512k128,exact,name,1,-",
        "ckgen_verbose,v1,select,gemm_bf16_rcr,gfx942:304,b0m16n512k128,near,name,1,-",
        "INFO: 127.0.0.1 - POST /v1/completions",
    ],
)
def test_what_was_found_is_no_miss(line: str) -> None:
    heard = shapes_of_log([line], Fp8Flavour.FNUZ)
    assert not heard.missed and not heard.unread


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("shape is M:6, N:512, K:128, not found tuned config in CKGEMM, will", "the module of table 'CKGEMM'"),
        ("shape is M:6, N:512, K:128, q_dtype_w:torch.int9, " + TABLE.format("a8w8"), "type 'torch.int9'"),
        ("shape is M:6, N:512, K:128, " + TABLE.format("a8w8"), "must name the type"),
        ("shape is M:6, N:512, " + TABLE.format("a8w8_blockscale"), "'not found tuned config' does not say its sizes"),
        ("[fused_moe] using 1stage default for tokens 6", "'[fused_moe] using 1stage default for' does not say"),
        (MOE.format("256, 1, 2"), "other columns"),
        (MOE.format(KEY.format(FP8, FP8, "QuantType.per_9")), "QuantType.per_9"),
        (
            "ckgen_verbose,v1,select,grouped_gemm_bf16_rcr,gfx942:304,b0m1n2k3g4,default,x,1,-",  # no group's sizes
            "about grouped",
        ),
    ],
)
def test_a_miss_that_is_not_understood_is_counted_with_its_reason(line: str, why: str) -> None:
    heard = shapes_of_log([line, line], Fp8Flavour.FNUZ)
    ((reason, count),) = heard.unread.items()
    assert why in reason and count == 2 and not heard.missed


def test_lines_are_counted_by_problem() -> None:
    line = "shape is M:72, N:512, K:7168, " + TABLE.format("a8w8_blockscale")
    assert list(shapes_of_log(["noise", line, f"TP1 {line}"], Fp8Flavour.FNUZ).missed.values()) == [2]


@pytest.mark.parametrize(
    ("groups", "sizes"),
    [("g3:2*64x512x1024;32x512x1024", "2*64x512x1024;32x512x1024"), ("G8:8*64x512x1024", "on_device 8*64x512x1024")],
)
def test_a_line_about_groups_says_the_sizes_of_each(groups: str, sizes: str) -> None:
    line = f"ckgen_verbose,v1,select,grouped_gemm_bf16_rcr,gfx942:304,b0m64n512k1024{groups}d/any,default,x,1,-"
    heard = shapes_of_log([line], None)
    wanted = AskedShape("grouped_gemm_bf16_rcr", 0, 64, 512, 1024, sizes=sizes, gfx="gfx942", cu_num=304)
    assert list(heard.missed) == [wanted] and not heard.unread
