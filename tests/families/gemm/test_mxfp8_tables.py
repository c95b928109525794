"""Names of the MX-FP8 kernels for few rows in tables, and the work that a launch of one cannot do without."""

from __future__ import annotations

import pytest

from ckgen.families.gemm.device.hip_mxfp8_work import LeastWork, least_work
from ckgen.families.gemm.hip_config import HipConfig, HipKind
from ckgen.families.gemm.mxfp8_tables import config_named


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("m1_n4_k8", HipConfig.gemv(1, 4, 8)), ("m4_n2_k1", HipConfig.gemv(4, 2, 1)),
        ("m8_n4_k16", HipConfig.mfma(8, 4, 16)), ("m64_n1_k1", HipConfig.mfma(64, 1, 1)),
        ("m3_n4_k8", None), ("m1_n1_k8", None), ("m1_n4_k16", None), ("m8_n8_k1", None), ("m128_n1_k1", None),
        ("m01_n4_k8", None), ("m1_n4_k8_", None), ("xm1_n4_k8", None), ("m1_n4", None), ("", None),
        ("m1_n4_k8888888888", None),
    ],
)  # fmt: skip
def test_a_name_is_of_a_kernel_that_there_is(name: str, config: HipConfig | None) -> None:
    assert config_named(name) == config


def test_matrix_instructions_are_taken_where_both_forms_have_so_many_rows() -> None:
    both = [config_named(f"m{m}_n2_k4") for m in (1, 2, 4, 8, 16, 32, 64)]
    assert [one.kind for one in both if one] == [HipKind.GEMV] * 3 + [HipKind.MFMA] * 4


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
