"""What a refusal says would have to change is what keeps the nearest instance from the problem."""

from __future__ import annotations

import pytest

from commands import run

MX = ("gemm", "--target", "gfx950", "--signature", "mxfp8", "--tuning", "t")
PAGED = ("fmha:bf16_blocktable", "--target", "gfx90a", "batch=8", "heads_q=32", "heads_k=8", "seqlen_q=1")


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("problem", "reason", "others"),
    [
        ((*MX, "--shape", "4,150000,16384"), "a matrix of 2457600000 elements is above 2147483648", " 8: "),
        (
            (*MX, "--shape", "17,2048,2048"),
            "M = 17 is above 16 (rule gemm.instance.max-m)",
            " 8: gemm.instance.max-m 6, gemm.instance.min-m 2",
        ),
        (
            (*PAGED, "seqlen_k=5000", "hdim_q=256", "page_size=16"),
            "head dimension = 256 is above 128 (rule fmha.instance.hdim)",
            " 6: fmha.instance.hdim 6",
        ),
    ],
)
def test_the_nearest_instance_is_told_and_the_others_are_counted(
    problem: tuple[str, ...], reason: str, others: str
) -> None:
    explained = run("explain", *problem)
    (said,) = [line for line in explained.stdout.splitlines() if line.startswith("  unsupported  ")]
    assert explained.exit_code == 1 and reason in said
    assert reason in run("lookup", *problem).stdout
    (nearest,) = [line.split()[1] for line in explained.stdout.splitlines() if line.startswith("  nearest      ")]
    lines = explained.stdout.splitlines()
    at = next(at for at, line in enumerate(lines) if f"{nearest} " in line and line.startswith("  default"))
    assert reason in lines[at + 1]
    assert f"\n  others      {others}" in explained.stdout


@pytest.mark.usefixtures("tiny")
def test_what_a_refusal_asks_for_is_what_was_missing() -> None:
    assert run("lookup", *MX, "--shape", "16,2048,2048").exit_code == 0
    assert run("lookup", *MX, "--shape", "4,131072,16384").exit_code == 0
    assert run("lookup", *PAGED, "seqlen_k=5000", "hdim_q=128", "page_size=16").exit_code == 0
