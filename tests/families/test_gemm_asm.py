"""Kernels that AMD ships as code objects: what is recorded of them, their names, what they ask, their units."""

from __future__ import annotations

import re

import pytest
from families_rows import read_rows

from ckgen.emit.device import render_device_unit
from ckgen.families.gemm.asm_kernels import AsmKernel, asm_kernels
from ckgen.families.gemm.device import asm
from ckgen.families.gemm.grammar import identify, table_name
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import supports
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.families.rules import judge
from ckgen.model.backend import Backend
from ckgen.model.tuned_row import Shape
from ckgen.specs import load_arch

F4 = "_ZN5aiter41f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128E"
F4_WHOLE = "_ZN5aiter42f4gemm_bf16_per1x32Fp4_BpreShuffle_192x256E"
F4_SPLITS = "_ZN5aiter42f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256E"
BF16 = "_ZN5aiter28bf16gemm_outf32_tn_48x64_pf3E"
INT8 = "_ZN5aiter42I8gemm_bf16_perTokenI8_BpreShuffle_128x128E"


def instance(symbol: str) -> Instance:
    kernel = asm_kernels()[symbol]
    return make_instance(
        parse_canonical(kernel.signature),
        kernel.config,
        module=kernel.module,
        table_kernel=symbol,
        archs=kernel.archs,
    )


def refusal(symbol: str, m: int, n: int, k: int, k_batch: int = 1) -> str:
    found = supports(instance(symbol).constraints, Shape(0, m, n, k), k_batch)
    return found.rule.removeprefix("gemm.instance.") if found else ""


def test_every_kernel_is_recorded_consistently() -> None:
    kernels = asm_kernels().values()
    assert len(kernels) == 38 and len({kernel.config.text() for kernel in kernels}) == 38
    for kernel in kernels:
        name, tile = kernel.config.name, kernel.config.tile
        assert kernel.symbol == f"_ZN5aiter{len(name)}{name}E"
        assert f"_{tile.m}x{tile.n}" in name
        for each in kernel.objects:
            assert each.path.startswith(f"aiter_meta/hsa/{each.arch}/") and each.path.endswith(f"/{name}.co")
            assert re.fullmatch("[0-9a-f]{64}", each.sha256)
            assert each.lds <= load_arch(each.arch).lds_bytes and each.block == 256


def test_a_shipped_name_is_known_in_its_module_only() -> None:
    for kernel in asm_kernels().values():
        found = identify(kernel.module, "asm", kernel.symbol)
        assert found is not None and found.backend is Backend.ASM and found.config == kernel.config
        assert table_name(kernel.module, kernel.config) == kernel.symbol
    assert identify("a8w8_blockscale", "asm", F4) is None and table_name("bf16", asm_kernels()[F4].config) is None
    assert identify("a4w4_blockscale", "ck", F4) is None
    assert identify("a8w8_bpreshuffle", "asm", INT8) is None, "its B is laid out otherwise than the signature's"


def test_the_tables_name_kernels_of_one_kind() -> None:
    rows = [row for row in read_rows() if row.library == "asm" and row.kernel in asm_kernels()]
    assert len(rows) == 1382 and len({row.kernel for row in rows}) == 25
    assert {(row.module, row.gfx, row.split_k) for row in rows} == {("a4w4_blockscale", "gfx950", 0)}


def test_no_measured_row_is_refused_but_one() -> None:
    """Its 128x512 writes beyond N in the wheel's code object: see asm_kinds.json."""
    refused = [
        (row.m, row.n, row.k, asm_kernels()[row.kernel].config.tile.n)
        for row in read_rows()
        if row.library == "asm" and row.kernel in asm_kernels() and refusal(row.kernel, row.m, row.n, row.k)
    ]
    assert refused == [(16384, 800, 5120, 512)]


@pytest.mark.parametrize(
    ("symbol", "problem", "rule"),
    [
        (F4, (1, 160, 256, 1), ""),
        (F4, (1, 144, 256, 1), "n-multiple"),
        (F4, (1, 128, 128, 1), "k-multiple"),
        (F4, (1, 128, 512, 2), "max-k-batch"),
        (F4, (1 << 20, 128, 1 << 14, 1), "matrix-size"),
        (F4_WHOLE, (1, 512, 256, 1), ""),
        (F4_WHOLE, (1, 288, 256, 1), "n-multiple"),
        (F4_SPLITS, (1, 256, 256, 1), "min-k"),
        (F4_SPLITS, (1, 256, 4096, 8), ""),
        (F4_SPLITS, (1, 256, 4096, 16), "min-k"),
        (F4_SPLITS, (1, 256, 1280, 2), "split-multiple"),
        (BF16, (3, 128, 576, 3), ""),
        (BF16, (3, 128, 192, 3), "min-k"),
        (BF16, (3, 96, 192, 1), "n-multiple"),
        (BF16, (3, 64, 256, 3), "split-multiple"),
    ],
)
def test_what_a_kernel_asks_of_a_problem(symbol: str, problem: tuple[int, int, int, int], rule: str) -> None:
    assert refusal(symbol, *problem) == rule


def test_rules_refuse_other_archs_and_signatures() -> None:
    def broken(kernel: AsmKernel, signature: str, arch: str) -> list[str]:
        found = judge(parse_canonical(signature), kernel.config, Backend.ASM, load_arch(arch))
        return [finding.rule for finding in found]

    kernel = asm_kernels()[F4]
    assert broken(kernel, kernel.signature, "gfx950") == []
    assert broken(kernel, kernel.signature, "gfx942") == ["asm.kernel.arch"]
    assert broken(kernel, "gemm_fp4_fp16_rcr_mx_preshuffle", "gfx950") == ["asm.kernel.signature"]
    assert broken(asm_kernels()[BF16], "gemm_bf16_fp32_rcr_bias", "gfx942") == ["asm.kernel.signature"]


def test_units_say_what_is_taken_and_how_it_is_called() -> None:
    made = instance(BF16)
    variants = asm.KIND.all_variants(made)
    assert [asm.KIND.symbol(made, variant) for variant in variants] == [BF16]
    lines = render_device_unit(asm.KIND.device_unit(made, variants)).splitlines()
    assert [line.split()[0] for line in lines if not line.startswith("#")] == ["gfx942", "gfx950"]
    text = render_device_unit(asm.host_unit(made, {"gfx942": variants}))
    assert '#include "backends/asm/bf16gemm.hpp"' in text and "48, 64, 256, true" in text
    assert asm.unavailable(made, "gfx942") is None
    assert asm.unavailable(instance(F4), "gfx942") == f"{asm_kernels()[F4].config.name} is shipped for gfx950 only"


@pytest.mark.parametrize(
    ("symbol", "arch", "steps"),
    [
        # 32 x 128 x 256 over 4 waves in products of 16 x 16 x 128 or 32 x 32 x 64
        (F4, "gfx950", {"v_mfma_scale_f32_16x16x128_f8f6f4": 8, "v_mfma_scale_f32_32x32x64_f8f6f4": 4}),
        (BF16, "gfx942", {"v_mfma_f32_16x16x16_bf16": 12, "v_mfma_f32_32x32x8_bf16": 6}),
    ],
)
def test_the_machine_code_must_be_the_signature_s(symbol: str, arch: str, steps: dict[str, int]) -> None:
    made = instance(symbol)
    demands = asm.expected(made, arch, asm.KIND.all_variants(made)[0])
    assert {name: count for name, count in demands.steps if name in steps} == steps
    assert demands.scratch_bytes == demands.spills == 0
