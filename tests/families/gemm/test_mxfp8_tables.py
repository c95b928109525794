"""Names of the MX-FP8 kernels for few rows in tables, and the work that a launch of one cannot do without."""

from __future__ import annotations

import pytest

from ckgen.families.gemm.device.hip_mxfp8_work import LeastWork, least_work
from ckgen.families.gemm.hip_config import HipConfig, HipKind
from ckgen.families.gemm.mxfp8_envelope import config_of, envelope
from ckgen.families.gemm.mxfp8_tables import config_named, name_of_row, usual_kind
from ckgen.families.kernel_sets import shipped_set


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("gemv_m1_n4_k8", HipConfig.gemv(1, 4, 8)), ("gemv_m4_n2_k1", HipConfig.gemv(4, 2, 1)),
        ("gemv_m8_n4_k4", HipConfig.gemv(8, 4, 4)), ("mfma_m8_n4_k16", HipConfig.mfma(8, 4, 16)),
        ("mfma_m64_n1_k1", HipConfig.mfma(64, 1, 1)),
        ("gemv_m1_n1_k8", None), ("gemv_m1_n4_k16", None), ("mfma_m8_n8_k1", None), ("mfma_m128_n1_k1", None),
        ("gemv_m01_n4_k8", None), ("gemv_m1_n4_k8_", None), ("xgemv_m1_n4_k8", None), ("gemv_m1_n4", None), ("", None),
        ("gemv_m1_n4_k8888888888", None), ("m1_n4_k8", None), ("moe_deep_m16_n1_k8", None),
    ],
)  # fmt: skip
def test_a_name_is_of_a_kernel_that_there_is(name: str, config: HipConfig | None) -> None:
    assert config_named(name) == config


def test_zero_is_the_kernels_own_number() -> None:
    assert name_of_row(HipKind.GEMV, 4, 0, 0) == "gemv_m4_n4_k4"
    assert name_of_row(HipKind.GEMV, 4, 2, 0) == "gemv_m4_n2_k4"
    assert name_of_row(HipKind.GEMV, 4, 0, 8) == "gemv_m4_n4_k8"
    assert name_of_row(HipKind.MFMA, 16, 0, 0) == "mfma_m16_n1_k8"
    assert config_named("gemv_m4_n0_k0") is None


def test_own_numbers_are_those_of_the_defaults() -> None:
    defaults = {one.config for one in shipped_set("default", "gemm") if isinstance(one.config, HipConfig)}
    assert defaults == {
        config_of(kind, m, 0, 0) for kind, known in envelope().kinds.items() if not kind.is_moe for m in known.m
    }


def test_a_gemv_masks_rows_and_matrix_instructions_do_not() -> None:
    masked = {m: config_of(HipKind.GEMV, m, 0, 0) for m in range(18)}
    assert {m: config.m for m, config in masked.items() if config} == {
        1: 1, 2: 2, 3: 4, 4: 4, **dict.fromkeys(range(5, 9), 8), **dict.fromkeys(range(9, 17), 16),
    }  # fmt: skip
    assert [m for m in range(130) if config_of(HipKind.MFMA, m, 0, 0)] == [8, 16, 32, 64]
    assert name_of_row(HipKind.GEMV, 3, 0, 0) == "gemv_m4_n4_k4" and config_named("gemv_m3_n4_k4") is None
    assert name_of_row(HipKind.GEMV, 17, 0, 4) == "gemv_m17_n0_k4" and name_of_row(HipKind.MFMA, 9, 1, 4) == (
        "mfma_m9_n1_k4"
    )


def test_rows_that_tell_no_kind_are_of_matrix_instructions_where_these_take_so_many() -> None:
    kinds = [usual_kind(m) for m in (1, 2, 3, 4, 8, 9, 16, 32, 64)]
    assert [kind is HipKind.MFMA for kind in kinds] == [False] * 4 + [True, False, True, True, True]


def test_a_gemv_does_its_products_and_folds_each_waves_sums() -> None:
    """One step of 1024, 1 row times 4: of 8 pairs 4 products and 5 conversions, 5 scales; 4 sums of 4.5 per split."""
    one = least_work(HipConfig.gemv(1, 4, 2), n=4, k=1024)
    assert one == LeastWork(read=5 * (1024 + 32), matrix=0, vector=8 * 9 + 5 + 2 * 18, loads=2 * 5)
    deeper = least_work(HipConfig.gemv(1, 4, 2), n=4, k=3 * 1024)
    assert (deeper.read, deeper.vector, deeper.loads) == (3 * one.read, 3 * 77 + 36, 3 * one.loads)


def test_matrix_instructions_are_one_per_pair_of_tiles_and_step() -> None:
    """Two tiles of rows times two of columns, of 128: four matrix instructions, three loads for each of four tiles."""
    assert least_work(HipConfig.mfma(32, 2, 4), n=32, k=128) == LeastWork(read=64 * 132, matrix=4, vector=0, loads=12)
    assert least_work(HipConfig.mfma(8, 1, 4), n=16, k=256) == LeastWork(
        read=24 * 264, matrix=2, vector=0, loads=2 * 3 * 2
    )


def test_a_is_read_by_each_workgroup_along_n_and_b_by_each_block() -> None:
    config = HipConfig.moe(HipKind.MOE_DEEP, 16, 8, 8)
    found = least_work(config, n=20, k=128, blocks=5, rows=7)
    assert found == LeastWork(read=(20 * 5 + 3 * 7) * 132, matrix=15, vector=0, loads=15 * 6)
    assert least_work(config, n=20, k=128, blocks=5).read == (20 * 5 + 3 * 80) * 132
