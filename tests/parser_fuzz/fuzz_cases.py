"""Problems as `ckgen fuzz --problem` takes them: each is printed and read back."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.fuzz.case import parse_case
from parser_fuzz.target import Target, refusal, text_of


def run(data: bytes) -> None:
    """Reads a line."""
    with refusal():
        case = parse_case(text_of(data))
        assert parse_case(case.text()) == case


def seeds() -> Sequence[bytes]:
    """One of each op."""
    return [
        b"signature=gemm_fp16_rcr target=gfx942:80 m=40 n=48 k=72",
        b"signature=grouped_gemm_fp16_rcr target=gfx942:304 groups=3x8x16,0x8x8 data=zeros gap_a=-1",
        b"signature=moe_bf16_rcr_layer target=gfx950:256 experts=8 top_k=2 route=uniform is_sorted=1",
        b"signature=fmha_bf16_masked target=gfx942:304 corner=top_left window_left=-1 schedule=fixed",
    ]


TARGET = Target(
    "fuzz_cases", run, seeds, (b"=", b" ", b"'", b"\\", b"1_0", b"\xd9\xa3x1x1", b"groups=", b"none"), mutations=600
)
