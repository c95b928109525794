"""Peak rates: the products' data sheets, and counts between them."""

from __future__ import annotations

import pytest

from ckgen.model.dtype import DType
from ckgen.specs import load_arch


@pytest.mark.parametrize(
    ("name", "cu_num", "dtype", "tera"),
    [
        ("gfx908", 120, DType.FP16, 184.6),
        ("gfx908", 120, DType.BF16, 92.3),
        ("gfx90a", 104, DType.BF16, 181.0),
        ("gfx90a", 110, DType.FP16, 191.5),
        ("gfx942", 304, DType.FP16, 1307.4),
        ("gfx942", 304, DType.FP8_FNUZ, 2614.9),
        ("gfx942", 304, DType.INT8, 2614.9),
        ("gfx942", 228, DType.BF16, 980.6),
        ("gfx950", 256, DType.FP8_OCP, 5033.2),
        ("gfx950", 256, DType.FP4, 10066.3),
        ("gfx1100", 48, DType.FP16, 122.9),
        ("gfx1201", 32, DType.FP8_OCP, 389.3),
    ],
)
def test_data_sheet_peaks(name: str, cu_num: int, dtype: DType, tera: float) -> None:
    assert load_arch(name).peak_ops(dtype, dtype, cu_num) == pytest.approx(tera * 1e12, rel=1e-3)


def test_an_unknown_count_is_scaled() -> None:
    arch = load_arch("gfx942")
    full, half = arch.peak_ops(DType.FP16, DType.FP16, 304), arch.peak_ops(DType.FP16, DType.FP16, 152)
    assert full is not None and half is not None
    assert half == pytest.approx(full / 2)


def test_two_types_run_at_the_slower_one_s_rate() -> None:
    arch = load_arch("gfx950")
    assert arch.peak_ops(DType.BF16, DType.FP4, 256) == arch.peak_ops(DType.BF16, DType.BF16, 256)


def test_types_without_a_rate_have_no_peak() -> None:
    assert load_arch("gfx90a").peak_ops(DType.FP8, DType.FP8, 104) is None
    assert load_arch("gfx942").peak_ops(DType.FP16, DType.FP4, 304) is None


def test_flavours_share_a_rate() -> None:
    arch = load_arch("gfx942")
    assert arch.peak_ops(DType.FP8, DType.BF8_FNUZ, 304) == arch.peak_ops(DType.FP8_OCP, DType.FP8_FNUZ, 304)


def test_cores_of_a_cpu_add_up() -> None:
    arch = load_arch("x86_64_amx")
    one, many = arch.peak_ops(DType.BF16, DType.BF16, 1), arch.peak_ops(DType.BF16, DType.BF16, 56)
    assert one is not None and many == pytest.approx(56 * one)
