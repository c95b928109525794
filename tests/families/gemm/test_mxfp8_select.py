"""Which MX-FP8 kernel for few rows answers: each number of the envelope from both sides, rows, experts."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.emit.mxfp8_envelope_header import header_path, render_mxfp8_envelope_header
from ckgen.families.gemm.config import HipConfig, HipKind
from ckgen.families.gemm.mxfp8_envelope import envelope, outside
from ckgen.families.gemm.mxfp8_select import (
    NOT_THIS_ONE,
    Declined,
    GemmKey,
    MoeKey,
    MoeProblem,
    Tuned,
    WeightTensor,
    block_n_of,
    choose_gemm,
    choose_moe,
    outside_moe,
    outside_weights,
)

N = 4096


def chosen(m: int, k: int, rows: dict[GemmKey, Tuned] | None = None, n: int = N) -> str:
    """The Config's text, or why there is none."""
    found = choose_gemm(GemmKey(k, n, m), rows or {})
    return found.reason if isinstance(found, Declined) else found.text()


@pytest.mark.parametrize(
    ("m", "k", "text"),
    [
        (4, 4096, "mxfp8_gemv_m4_n4x1_k4"),
        (4, 4128, "mxfp8_gemv_m4_n4x1_k4"),
        (4, 4112, "K = 4112: taken is a multiple of 32"),
        (8, 4224, "mxfp8_mfma_m8_n1x16_k8"),
        (8, 4160, "mxfp8_gemv_m8_n4x1_k4"),
        (16, 4096, "mxfp8_mfma_m16_n1x16_k8"),
        (32, 4096, "M = 32 needs a row of a tuning table"),
        (64, 4096, "M = 64 needs a row of a tuning table"),
        (32, 4128, "K = 4128: taken is a multiple of 128"),
        (3, 4096, "rows = 3: taken is 1, 2, 4, 8, 16, 32, 64"),
        (65, 4096, "rows = 65: taken is 1, 2, 4, 8, 16, 32, 64"),
    ],
)
def test_rows_and_k_of_a_gemm(m: int, k: int, text: str) -> None:
    assert chosen(m, k) == text


def test_rows_of_each_kind_are_these_and_no_others() -> None:
    taken = {
        kind.value: [m for m in range(1, 200) if outside(kind, m, N, 4096) is None]
        for kind in (HipKind.GEMV, HipKind.MFMA)
    }
    assert taken == {"gemv": [1, 2, 4, 8, 16], "mfma": [8, 16, 32, 64]}


def test_two_gib_of_b_are_taken_and_one_row_more_is_not() -> None:
    assert chosen(1, 4096, n=2**31 // 4096).startswith("mxfp8_gemv")
    assert chosen(1, 4096, n=2**31 // 4096 + 1) == "bytes of B = 2147487744: taken is up to 2147483648"


def test_a_row_decides() -> None:
    key = GemmKey(4096, N, 32)
    assert chosen(32, 4096, {key: Tuned(2, 4, True)}) == "mxfp8_mfma_m32_n2x16_k4"
    assert choose_gemm(key, {key: Tuned(2, 4, False)}) is NOT_THIS_ONE
    assert choose_gemm(replace(key, m=8), {replace(key, m=8): Tuned(0, 0, False)}) is NOT_THIS_ONE
    assert chosen(32, 4096, {replace(key, n=N + 1): Tuned(2, 4, True)}) == "M = 32 needs a row of a tuning table"
    assert chosen(32, 4096, {key: Tuned(3, 4, True)}) == "n_sub = 3: taken is 1, 2, 4"


GATE_UP, DOWN = MoeKey(1536, 6144, 8, False), MoeKey(6144, 768, 1, True)
CALL = MoeProblem(experts=64, tokens=8, top_k=8, block_m=16, sorted_ids=1024)


def refused(key: MoeKey, **changed: int) -> str:
    return str(outside_moe(key, replace(CALL, **changed)) or "")


def test_k_of_experts_is_a_multiple_of_1024_or_768() -> None:
    taken = [k for k in range(1, 6200) if not refused(replace(GATE_UP, k=k), tokens=1)]
    assert taken == [768, 1024, 2048, 3072, 4096, 5120, 6144]


@pytest.mark.parametrize(
    ("key", "experts", "most"), [(GATE_UP, 1, 16), (GATE_UP, 127, 16), (GATE_UP, 128, 64), (DOWN, 1, 8), (DOWN, 256, 8)]
)
def test_tokens_are_bounded_by_depth_and_experts(key: MoeKey, experts: int, most: int) -> None:
    assert not refused(key, experts=experts, tokens=most)
    assert refused(key, experts=experts, tokens=most + 1).startswith(f"tokens = {most + 1}: taken is up to {most} ")


@pytest.mark.parametrize(("experts", "taken"), [(227, True), (228, False), (256, False)])
def test_gate_and_up_of_256_experts_are_beyond_two_gib(experts: int, taken: bool) -> None:
    assert (not refused(GATE_UP, experts=experts)) is taken
    assert taken or f"bytes of B = {experts * 1536 * 6144}" in refused(GATE_UP, experts=experts)


def test_down_of_256_experts_is_within_two_gib() -> None:
    assert 256 * 6144 * 768 == 1_207_959_552 and not refused(DOWN, experts=256)


def test_sorted_ids_are_whole_blocks() -> None:
    assert not refused(GATE_UP, sorted_ids=1008) and not refused(GATE_UP, block_m=64, sorted_ids=1024)
    assert refused(GATE_UP, sorted_ids=1009) == "length of sorted_token_ids = 1009: taken is a multiple of block_m = 16"
    assert refused(GATE_UP, block_m=8) == "block_m = 8: taken is 16, 32, 64"
    assert refused(GATE_UP, top_k=4) == "a_div = 8: taken is 1 or top_k = 4"


def test_weights_are_fp32_of_every_slot_without_gaps() -> None:
    good = WeightTensor("fp32", 64, True)
    assert outside_weights(good, 8, 8) is None
    for bad, says in (
        (replace(good, dtype="bf16"), "type of mul_weight_by = bf16: taken is fp32"),
        (replace(good, elements=63), "elements of mul_weight_by = 63: taken is tokens * top_k = 64"),
        (replace(good, elements=65), "elements of mul_weight_by = 65: taken is tokens * top_k = 64"),
        (replace(good, contiguous=False), "mul_weight_by = with gaps: taken is contiguous"),
    ):
        assert str(outside_weights(bad, 8, 8)) == says


def test_the_choice_of_experts_does_not_depend_on_their_number() -> None:
    found = {choose_moe(GATE_UP, replace(CALL, experts=experts)) for experts in (1, 8, 64, 128, 227)}
    assert found == {HipConfig.moe(16, 8, 8)}
    assert choose_moe(DOWN, CALL) == HipConfig.moe(16, 16, 8)
    assert choose_moe(DOWN, CALL, {DOWN: False}) is NOT_THIS_ONE
    assert choose_moe(DOWN, CALL, {GATE_UP: False}) == HipConfig.moe(16, 16, 8)


def test_block_n_goes_by_n_and_depth() -> None:
    assert [block_n_of(n, 6144) for n in (1536, 2032, 2048)] == [8, 8, 16] and block_n_of(1536, 768) == 16


def test_the_checked_in_header_is_what_the_json_says() -> None:
    assert header_path().read_text(encoding="utf-8") == render_mxfp8_envelope_header()


def test_cpp_says_the_same(tmp_path: Path) -> None:
    """As static assertions: nothing is linked or run."""
    lines = ['#include "backends/hip/mxfp8_host.hpp"', "using namespace ckgen::hip;"]
    for kind in (HipKind.GEMV, HipKind.MFMA):
        needs_row = envelope().kinds[kind].needs_row
        for m in (0, 1, 3, 8, 16, 32, 64, 65):
            for n, k in ((1, 32), (N, 4096), (N, 4128), (N, 4160), (N, 4100), (2**31 // 4096, 4096), (2**31, 4096)):
                fits = outside(kind, m, n, k) is None
                call = f"engages(mx_{kind}, {m}, {n}LL, {k}"
                lines.append(f"static_assert({call}, true) == {str(fits).lower()});")
                lines.append(f"static_assert({call}, false) == {str(fits and m not in needs_row).lower()});")
    for k in (768, 769, 1024, 1536, 6144):
        for experts in (1, 127, 128, 1000):
            depth = envelope().depth(k)
            lines.append(f"static_assert(most_tokens({k}, {experts}) == {depth.most(experts) if depth else 0});")
    source = tmp_path / "same.cpp"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    folders = [f"-I{paths.dispatcher_dir() / name}" for name in ("include", ".")]
    done = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", *folders, str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
