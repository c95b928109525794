"""What words of a command line name to a tune."""

from __future__ import annotations

import pytest

from ckgen.model.errors import UsageError
from ckgen.tune.asked import Subjects, subjects_of


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("module_gemm_a8w8_tune", "a8w8"),
        ("module_gemm_a8w8_bpreshuffle_tune", "a8w8_bpreshuffle"),
        ("module_gemm_a8w8_bpreshuffle_cktile_tune", "a8w8_bpreshuffle"),
        ("module_gemm_a8w8_blockscale_tune", "a8w8_blockscale"),
        ("module_gemm_a8w8_blockscale_cktile_tune", "a8w8_blockscale"),
        ("module_gemm_a8w8_blockscale_bpreshuffle_tune", "a8w8_blockscale_bpreshuffle"),
        ("module_gemm_a8w8_blockscale_bpreshuffle_cktile_tune", "a8w8_blockscale_bpreshuffle"),
        ("module_gemm_a4w4_blockscale_tune", "a4w4_blockscale"),
        ("module_batched_gemm_a8w8_tune", "batched_a8w8"),
        ("module_batched_gemm_bf16_tune", "batched_bf16"),
        ("module_moe_ck2stages", "fmoe"),
    ],
)
def test_every_tuner_of_aiter_names_a_module(name: str, module: str) -> None:
    """Those of its `optCompilerConfig.json`; of experts it builds a module for each variant."""
    assert subjects_of(name) == Subjects(modules=frozenset({module}))


def test_what_only_looks_like_a_name_of_aiters_is_refused() -> None:
    for name in ("moer", "module_gemm_a8w8_cktile_tunes", "module_gemm_tune"):
        with pytest.raises(UsageError, match=f"unknown operation or module: '{name}'"):
            subjects_of(name)
