"""`lookup` and `explain` of groups and of routed tokens: what the options say, and what they do not take."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import as_json, ok, run

GROUPED = ("grouped_gemm", "--target", "gfx942", "--signature", "bf16", "--tuning", "t")
MOE = ("moe", "--target", "x86_64_v3", "--signature", "bf16:gated:silu", "--tuning", "t")
ROUTED = ("--shape", "9,256,128", "--experts", "8", "--top-k", "2")


def test_groups_are_sizes_with_alike_ones_counted(tiny: Path) -> None:
    found = as_json("lookup", *GROUPED, "--groups", "128x256x512, 2*64x256x512,0x256x512")
    alike = {"M": 64, "N": 256, "K": 512}
    assert found["shape"] == {"groups": [{"M": 128, "N": 256, "K": 512}, alike, alike, {"M": 0, "N": 256, "K": 512}]}
    assert found["tier"] == "default" and found["signature"] == "grouped_gemm_bf16_rcr"
    assert found["instance"].startswith("grouped_gemm_bf16_rcr_ck_tile_compv3_")


def test_an_odd_size_of_one_group_decides_for_all(tiny: Path) -> None:
    alike = as_json("lookup", *GROUPED, "--groups", "8*128x256x512")["instance"]
    odd = as_json("lookup", *GROUPED, "--groups", "7*128x256x512,128x256x511")["instance"]
    assert odd.endswith("_vec1") and not alike.endswith("_vec1")


def test_groups_on_the_device_are_a_bound(tiny: Path) -> None:
    found = as_json("lookup", *GROUPED, "--groups-on-device", "16:256x4096x7168")
    assert found["shape"] == {"count": 16, "most": {"M": 256, "N": 4096, "K": 7168}} and found["instance"]
    assert "16 groups of at most 256x4096x7168 on the device" in ok(
        "explain", *GROUPED, "--groups-on-device", "16:256x4096x7168"
    )


def test_illegal_groups_are_exit_1_with_the_rule(tiny: Path) -> None:
    found = as_json("lookup", *GROUPED, "--groups", "8x8x8,8x-8x8", code=1)
    assert found["instance"] is None and found["reason"].endswith("(rule grouped.sizes)")


@pytest.mark.parametrize("block_m", [16, 64])
def test_routed_tokens_ask_for_a_kernel_of_their_blocks(tiny: Path, block_m: int) -> None:
    found = as_json("lookup", *MOE, *ROUTED, "--block-m", str(block_m))
    assert found["shape"] == {"M": 9, "N": 256, "K": 128, "experts": 8, "top_k": 2, "block_m": block_m}
    assert f"_{block_m}x512x512_" in found["instance"]
    assert f"M=9 N=256 K=128 experts=8 top_k=2 block_m={block_m}  on x86_64_v3" in ok(
        "explain", *MOE, *ROUTED, "--block-m", str(block_m)
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (GROUPED, "grouped_gemm needs either --groups or --groups-on-device"),
        ((*GROUPED, "--groups", "1x2x3", "--groups-on-device", "1:1x2x3"), "needs either --groups or"),
        ((*GROUPED, "--groups", "1x2"), "--groups takes MxNxK"),
        ((*GROUPED, "--groups", ""), "--groups takes MxNxK"),
        ((*GROUPED, "--groups-on-device", "1x2x3"), "--groups-on-device takes COUNT:MxNxK"),
        ((*GROUPED, "--groups", "1x2x3", "--shape", "1,2,3"), "--shape is not an option of grouped_gemm"),
        ((*MOE, "--experts", "8"), "moe needs --shape, --top-k"),
        ((*MOE, *ROUTED, "--groups", "1x2x3"), "--groups is not an option of moe"),
        ((*MOE, *ROUTED, "--block-m", "0"), "--block-m"),
        (("gemm", "--target", "gfx942", "--signature", "bf16"), "gemm needs --shape"),
        (("gemm", "--target", "gfx942", "--signature", "bf16", *ROUTED), "--experts is not an option of gemm"),
        (
            ("gemm", "--target", "gfx942", "--signature", "grouped:bf16"),
            "is a signature of op grouped_gemm, not of gemm",
        ),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_is_missing(tiny: Path, arguments: tuple[str, ...], said: str) -> None:
    for command in ("lookup", "explain"):
        result = run(command, *arguments)
        assert result.exit_code == 2 and said in result.stderr and result.stdout == "", result.output
