"""AMD's kernels of attention's gradients: what they ask, what is built around them, which problems they take."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.shipped import ShippedVariant
from ckgen.families.fmha.asm_kernels import BackwardForm, asm_fmha_kernels, cut_of
from ckgen.families.fmha.constraints import constraints_of
from ckgen.families.fmha.cut import Cut
from ckgen.families.fmha.device import asm_backward, asm_fmha
from ckgen.families.fmha.device.kinds import device_code
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.problem import supports
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.kernel_sets import kernel_set_files
from ckgen.families.registry import make_instance
from ckgen.fuzz.fmha import OPERATION
from ckgen.model.backend import Backend
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select
from plan_support import plan_of

KERNELS = tuple(one for one in asm_fmha_kernels().values() if one.goes_back)
WINDOWS = "bwd_hd128_bf16_swa_a32_rtne_psskddv"
FROM_FIRST, TO_LAST = "bwd_hd128_bf16_causal_a32_rtne_psskddv", "bwd_hd128_bf16_causal_br_a32_rtne_psskddv"
GFX942, GFX950 = Target("gfx942", 304), Target("gfx950", 256)


@cache
def plan() -> GenerationPlan:
    sets = kernel_set_files(Path("asm"), ("fmha",))
    names = [f"fmha_{of}_bwd{more}" for of in ("bf16", "fp16") for more in ("", "_masked", "_varlen", "_varlen_masked")]
    return plan_of(targets=(GFX942, GFX950), ops=frozenset({"fmha"}), signatures=tuple(names), kernel_sets=sets)


def problem(**sizes: object) -> FmhaShape:
    plain = {"batch": 2, "heads_q": 8, "heads_k": 8, "seqlen_q": 4096, "seqlen_k": 4096, "hdim_q": 128, "hdim_v": 128}
    return FmhaShape(**{**plain, **sizes})  # type: ignore[arg-type]


def taken(signature: str, target: Target, **sizes: object) -> list[str]:
    """Names of the plan's shipped kernels that take a problem."""
    asked, shape = parse_signature(signature, None), problem(**sizes)
    own = [one for one in KERNELS if target.gfx in one.archs and one.signatures == (asked,)]
    planned = {one.config for one in plan().instances if one.backend is Backend.ASM and target.gfx in one.archs}
    asks = ((one.config, constraints_of(asked, one.config)) for one in own if one.config in planned)
    return [config.name for config, of in asks if supports(of, asked.traits, shape, 1) is None]


def test_no_two_kernels_of_an_arch_share_a_name_or_a_symbol() -> None:
    """gfx942 and gfx950 have kernels of one symbol with other tiles and arguments."""
    assert len(KERNELS) == len({one.config.name for one in KERNELS})
    assert len(KERNELS) == len({(one.symbol, arch) for one in KERNELS for arch in one.archs})
    for kernel in KERNELS:
        of_form = {BackwardForm.PADDED: 272, BackwardForm.WINDOWS: 288, BackwardForm.GROUP: 248, BackwardForm.OWN: 704}
        assert {one.kernarg for one in kernel.objects} == {of_form[kernel.form]}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.config.name)
def test_what_each_asks(kernel: object) -> None:
    (found,) = (one for one in KERNELS if one is kernel)
    (signature,) = found.signatures
    asked = constraints_of(signature, found.config)
    assert (asked.m0, asked.n0) == (found.config.tile.k, found.config.tile.m) and asked.m0 < asked.n0
    assert (asked.hdim_q, asked.hdim_v) == (found.hdim_q, found.hdim_v)
    assert asked.unordered_dq and asked.max_group == 1 and not asked.sink_tokens
    assert signature.traits.varlen == ("_group" in found.config.name)
    assert asked.pad_q == (found.form is not BackwardForm.WINDOWS)
    assert asked.needs_keys == asked.takes_gaps_q == (not signature.traits.varlen)
    assert asked.causal_only == ("causal_br" in found.config.name)
    assert asked.topleft_only == ("causal_a32" in found.config.name)
    assert signature.traits.masked == (asked.causal_only or asked.topleft_only or "_swa_" in found.config.name)


def test_what_each_cuts_towards_zero() -> None:
    """Of bf16 those whose names say so; of fp16 all that gfx950 does not have of its own, and dK and dV too."""
    of = {cut: {one.config.name for one in KERNELS if one.cut is cut} for cut in Cut}
    assert {cut: len(names) for cut, names in of.items()} == {Cut.NOTHING: 78, Cut.FACTORS: 35, Cut.ALL: 35}
    assert all("_bf16_" in name and "_rtz_" in name for name in of[Cut.FACTORS])
    assert all("_fp16_" in name and not name.endswith("_own") for name in of[Cut.ALL])
    assert not any("_rtz_" in name for name in of[Cut.NOTHING])
    assert {cut_of(one.config) for one in KERNELS} == set(Cut) and cut_of(HostFmhaConfig(64, 64)) is Cut.NOTHING


def test_a_measured_kernel_is_held_against_bounds_of_its_own() -> None:
    """Of several candidates of a problem, which share operands."""

    def bounds_of(name: str) -> str:
        kernel = asm_fmha_kernels()[name]
        instance = make_instance(kernel.signatures[0], kernel.config, kernel.archs)
        query = SimpleNamespace(unit=SimpleNamespace(instances=(instance,)))
        decision: Any = SimpleNamespace(query=query, chosen=SimpleNamespace(instance=instance.name))
        return OPERATION.bounds(decision)

    names = ("bwd_hd64_bf16_a32_rtne_pssk", "bwd_hd64_bf16_a32_rtz_pssk", "bwd_hd64_fp16_a32_pssk")
    assert [bounds_of(name) for name in names] == [Cut.NOTHING, Cut.FACTORS, Cut.ALL]


def test_the_shipped_set_has_none_that_cuts() -> None:
    named = {one.config for one in plan().instances if one.backend is Backend.ASM}
    assert {cut_of(config) for config in named} == {Cut.NOTHING}


def test_stages_are_ours_in_a_unit_beside_the_list_of_what_is_taken() -> None:
    kernel = asm_fmha_kernels()["bwd_hd128_fp16_a32_psskddv_own"]
    instance = make_instance(kernel.signatures[0], kernel.config, kernel.archs)
    code = device_code(instance)
    unit = code.device_unit(code.all_variants())
    listed, stages = render_device_unit(unit), unit.stages
    assert kernel.objects[0].sha256 in listed and stages is not None
    text = render_device_unit(stages)
    symbols = [code.symbol(variant) for variant in code.all_variants()]
    assert symbols[0] == kernel.symbol and (unit.symbols, stages.symbols) == ((symbols[0],), tuple(symbols[1:]))
    assert all(text.count(one) == 1 for one in symbols[1:]) and "DType::fp16" in text
    for variant in code.all_variants():
        demands = code.expected("gfx950", variant)
        assert bool(demands.steps) == (demands.lds_bytes > 0) == (variant == ShippedVariant())
    assert asm_backward.expected(instance, "gfx950", ShippedVariant()) == asm_fmha.expected(
        instance, "gfx950", ShippedVariant()
    )
    host = render_device_unit(code.host_unit({"gfx950": code.all_variants()}))
    assert (
        f'"{kernel.symbol}"' in host
        and "256, ckgen::DType::fp16, false, false, ckgen::asm_host::BackwardForm::own, false" in host
    )


@pytest.mark.parametrize(
    ("signature", "target", "sizes", "kernels"),
    [
        ("bf16_bwd", GFX942, {}, ["bwd_hd128_bf16_a32_rtne_psskddv"]),
        ("bf16_bwd", GFX942, {"seqlen_q": 33, "seqlen_k": 77}, ["bwd_hd128_bf16_a32_rtne_psskddv"]),
        ("bf16_bwd", GFX942, {"hdim_q": 64, "hdim_v": 64}, ["bwd_hd64_bf16_a32_rtne_pssk"]),
        ("bf16_bwd_masked", GFX942, {}, [FROM_FIRST, TO_LAST, WINDOWS]),
        ("bf16_bwd_masked", GFX942, {"corner": FmhaCorner.TOP_LEFT}, [FROM_FIRST, TO_LAST, WINDOWS]),
        ("bf16_bwd_masked", GFX942, {"seqlen_q": 4000}, [TO_LAST, WINDOWS]),
        ("bf16_bwd_masked", GFX942, {"corner": FmhaCorner.TOP_LEFT, "seqlen_q": 4000}, [FROM_FIRST, WINDOWS]),
        ("bf16_bwd_masked", GFX942, {"corner": FmhaCorner.TOP_LEFT, "seqlen_q": 4001}, [FROM_FIRST]),
        ("fp16_bwd", GFX950, {}, ["bwd_hd128_fp16_a32_psskddv_own"]),
        ("bf16_bwd", GFX950, {"hdim_q": 192}, ["bwd_hd192_hd128_bf16_a32_pssk_own"]),
        ("fp16_bwd_masked", GFX950, {"hdim_q": 192, "seqlen_q": 77}, []),
        (
            "fp16_bwd_masked",
            GFX950,
            {"hdim_q": 192, "seqlen_q": 77, "corner": FmhaCorner.TOP_LEFT},
            ["bwd_hd192_hd128_fp16_causal_a32_pssk_own"],
        ),
        ("bf16_bwd", GFX950, {"hdim_q": 192, "hdim_v": 192}, ["bwd_hd192_bf16_a32_rtne_psskddv_recompile"]),
        ("bf16_bwd_varlen", GFX942, {"seqlen_k": 0}, ["bwd_hd128_bf16_a32_rtne_pssk_group"]),
        ("bf16_bwd_varlen_masked", GFX942, {"total_q": 5000}, ["bwd_hd128_bf16_causal_br_a32_rtne_pssk_group"]),
        ("fp16_bwd_varlen", GFX950, {}, ["bwd_hd128_fp16_a32_psskddv_group_own"]),
        (
            "bf16_bwd_varlen_masked",
            GFX950,
            {"hdim_q": 64, "hdim_v": 64, "corner": FmhaCorner.TOP_LEFT},
            ["bwd_hd64_bf16_causal_a32_rtne_pssk_group_recompile"],
        ),
        (
            "bf16_bwd_varlen_masked",
            GFX950,
            {"hdim_q": 64, "hdim_v": 64},
            ["bwd_hd64_bf16_causal_br_a32_rtne_pssk_group_recompile"],
        ),
        ("bf16_bwd_varlen", GFX942, {"gaps_q": True}, []),
        ("bf16_bwd_varlen_masked", GFX950, {}, []),
        ("bf16_bwd_masked", GFX942, {"window_left": 7}, [WINDOWS]),
        ("bf16_bwd_masked", GFX942, {"window_left": 7, "seqlen_q": 4090}, []),
        ("bf16_bwd_masked", GFX942, {"window_left": 7, "hdim_q": 64, "hdim_v": 64}, []),
        ("bf16_bwd_varlen_masked", GFX942, {"window_left": 7}, []),
        ("bf16_bwd_masked", GFX942, {"sink_tokens": 4}, []),
        ("bf16_bwd", GFX942, {"heads_k": 4}, []),
        ("bf16_bwd", GFX942, {"seqlen_k": 0}, []),
        ("bf16_bwd", GFX942, {"hdim_q": 120, "hdim_v": 120}, []),
        ("fp16_bwd", GFX942, {}, []),
        ("bf16_bwd_masked", GFX950, {}, [f"{WINDOWS}_recompile"]),
    ],
)
def test_which_problems_they_take(signature: str, target: Target, sizes: dict[str, object], kernels: list[str]) -> None:
    """Heads of the kernel's own size that nobody shares, masks that are causal from its corner, or windows."""
    assert taken(signature, target, **sizes) == kernels


def test_selection_takes_them_for_long_sequences() -> None:
    query = FmhaQuery(plan(), GFX942, parse_signature("bf16_bwd_masked", None), problem())
    found = select(query).instance
    assert found is not None and found.config.text() == TO_LAST
