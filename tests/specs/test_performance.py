"""Peaks of targets: the fastest product with that CU count, by the data sheets' own figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.model.dtype import DType
from ckgen.model.target import Target
from ckgen.specs.archs import load_archs
from ckgen.specs.performance import peaks_of

SHEETS = {
    # AMD's data sheets: dense TFLOPS of fp8 and bf16, TB/s of the fastest product with that CU count.
    ("gfx942", 304): (2614.9, 1307.4, 6.0),
    ("gfx942", 228): (1961.2, 980.6, 5.3),
    ("gfx950", 256): (5033.2, 2516.6, 8.0),
}


@pytest.mark.parametrize("place", SHEETS)
def test_peaks_are_those_of_data_sheets(place: tuple[str, int]) -> None:
    gfx, cu_num = place
    arch = load_archs()[gfx]
    peaks = peaks_of(arch, Target(gfx, cu_num))
    eight, sixteen, bandwidth = SHEETS[place]
    fp8 = DType.FP8.resolve(arch.fp8_flavour)
    assert peaks.ops_per_s(fp8, fp8) == pytest.approx(eight * 1e12, rel=1e-3)
    assert peaks.ops_per_s(DType.BF16, DType.BF16) == pytest.approx(sixteen * 1e12, rel=1e-3)
    assert peaks.bytes_per_s == bandwidth * 1e12


def test_who_answers_for_a_count_reports_it_or_has_such_a_partition_the_default_first() -> None:
    arch = load_archs()["gfx942"]
    whole = arch.products_for(304)
    assert whole[0] is arch.default_sku and {sku.memory_gb_per_s for sku in whole} == {5300, 6000}
    assert [sku.name for sku in arch.products_for(38)] == [sku.name for sku in arch.skus if sku.name != "MI308X"]
    assert arch.products_for(7)[0] is arch.default_sku and set(arch.products_for(7)) == set(arch.skus)


def test_every_gpu_says_where_its_peaks_are_from() -> None:
    for arch in load_archs().values():
        if arch.vendor is None:
            continue
        peaks = peaks_of(arch, Target(arch.name, arch.default_cu_num))
        assert peaks.rate_source and peaks.clock_source and peaks.cache_source
        assert bool(peaks.memory_source) == (peaks.bytes_per_s is not None)


def test_the_least_time_is_that_of_the_slower_roof_and_forgives_what_caches_hold() -> None:
    arch = load_archs()["gfx942"]
    peaks = peaks_of(arch, Target("gfx942", 304))
    rate = peaks.ops_per_s(DType.BF16, DType.BF16)
    assert rate is not None and peaks.bytes_per_s is not None
    assert peaks.least_us(DType.BF16, DType.BF16, int(rate), 0) == pytest.approx(1e6)
    assert peaks.least_us(DType.BF16, DType.BF16, 0, peaks.cache_bytes) == 0
    beyond = peaks.cache_bytes + int(peaks.bytes_per_s)
    assert peaks.least_us(DType.BF16, DType.BF16, 0, beyond) == pytest.approx(1e6)
    assert replace(peaks, bytes_per_s=None).least_us(DType.BF16, DType.BF16, 0, beyond) == 0
    assert peaks.cache_bytes == 256 * 2**20 + 8 * 4 * 2**20, "the last level and each XCD's L2"
