"""The text of a device unit."""

from __future__ import annotations

from ck_device_support import instance_of

from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.variant import Tail
from ckgen.families.gemm.device.ck import device_unit
from ckgen.families.gemm.device.ck_variants import CkVariant, Spec

KERNEL = "a8w8_blockscale_1x128x128_256x16x128x128_8x16_16x16_1x2_16x16x1_8x32x1_1x16x1x16_8_1x2_intrawave_v1"
COLD = CkVariant(Spec.K, hot=False, tail=Tail.ODD, add=False)
HOT = CkVariant(Spec.DEFAULT, hot=True, tail=Tail.FULL, add=True)


def test_a_unit_defines_its_kernels_in_order() -> None:
    instance = instance_of("a8w8_blockscale", KERNEL)
    unit = device_unit(instance, (HOT, COLD))
    text = render_device_unit(unit)
    assert unit.symbols == (
        f"ckgen_{instance.id:016x}_default_hot_full_add",
        f"ckgen_{instance.id:016x}_kpadding_cold_odd_set",
    )
    assert [text.count(f'extern "C" __global__ __launch_bounds__(kMaxThreads, Module::waves) void {symbol}(')
            for symbol in unit.symbols] == [1, 1]  # fmt: skip
    assert text.index(unit.symbols[0]) < text.index(unit.symbols[1])
    assert "Module::run<Variant{Spec::Default, true, Tail::Full, Write::AtomicAdd}>(arg);" in text
    assert "Module::run<Variant{Spec::KPadding, false, Tail::Odd, Write::Set}>(arg);" in text


def test_a_unit_says_its_constants() -> None:
    text = render_device_unit(device_unit(instance_of("a8w8_blockscale", KERNEL), (COLD,)))
    for line in (
        '#include "ck/ops/blockscale.hpp"',
        "using Operand = ck::f8_t;",
        "using Out = ck::bhalf_t;",
        "using ACluster = S<16, 16, 1>;",
        "using CVector = S<8>;",
        "static constexpr Index scale_k = 128;",
        "static constexpr Index per_wave_n = 2;",
        "static constexpr Version version = Version::v1;",
        "using Module = A8w8BlockScale<Config>;",
    ):
        assert text.count(line) == 1, line


def test_units_of_both_outputs_differ_in_it_only() -> None:
    texts = [
        render_device_unit(device_unit(instance_of(f"a8w8_blockscale:{out}", KERNEL), (COLD,)))
        for out in ("bf16", "fp16")
    ]
    changed = [pair for pair in zip(*(text.splitlines() for text in texts), strict=True) if pair[0] != pair[1]]
    assert ("  using Out = ck::bhalf_t;", "  using Out = ck::half_t;") in changed
    assert len(changed) == 3
