"""Attention kernels that AMD ships: what they compute, on which arch, and where selection takes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from ckgen.families.fmha.asm_kernels import asm_fmha_kernels
from ckgen.families.fmha.constraints import constraints_of
from ckgen.families.fmha.device import asm_fmha
from ckgen.families.fmha.grammar import parse_instance_name
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.kernel_sets import kernel_set_files, load_kernel_set
from ckgen.families.registry import make_instance
from ckgen.families.rules import judge
from ckgen.model.arch import Vendor
from ckgen.model.backend import Backend
from ckgen.model.errors import InputError
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select, walk
from ckgen.specs.archs import load_archs
from plan_support import plan_of

KERNELS = tuple(asm_fmha_kernels().values())
GFX942, GFX950 = Target("gfx942", 304), Target("gfx950", 256)
FORWARD_NAMES = ("fmha_bf16", "fmha_bf16_varlen", "fmha_bf16_masked", "fmha_bf16_varlen_masked")


@cache
def plan() -> GenerationPlan:
    sets = kernel_set_files(Path("asm"), ("fmha",))
    names = (*(f"{name}{lse}" for name in FORWARD_NAMES for lse in ("", "_lse")), "fmha_bf16_blocktable_vectorized")
    return plan_of(targets=(GFX942, GFX950), ops=frozenset({"fmha"}), signatures=names, kernel_sets=sets)


def chosen(signature: str, target: Target, **sizes: object) -> str:
    shape = FmhaShape(**{"heads_q": 32, "heads_k": 8, "hdim_q": 128, "hdim_v": 128, **sizes})  # type: ignore[arg-type]
    found = select(FmhaQuery(plan(), target, parse_signature(signature, None), shape))
    assert found.instance is not None
    return found.instance.config.text()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.config.name)
def test_each_kernel_is_legal_where_it_is_shipped(kernel: object) -> None:
    (found,) = (one for one in KERNELS if one is kernel)
    for signature in found.signatures:
        assert not signature.problems()
        instance = make_instance(signature, found.config, found.archs)
        assert parse_instance_name(instance.name) == (signature, Backend.ASM, found.config)
        for arch in load_archs().values():
            refused = [finding.rule for finding in judge(signature, found.config, Backend.ASM, arch)]
            is_amd = arch.vendor in (None, Vendor.AMD)
            elsewhere = ["asm.kernel.arch"] if is_amd else ["asm.kernel.arch", "asm.vendor"]
            assert refused == ([] if arch.name in found.archs else elsewhere)
            assert (asm_fmha.unavailable(instance, arch.name) is None) == (arch.name in found.archs)


@pytest.mark.parametrize("signature", ["fmha_fp16", "fmha_bf16_masked", "fmha_bf16_varlen", "fmha_bf16_softcap"])
def test_a_signature_that_the_kernel_does_not_compute(signature: str) -> None:
    kernel = asm_fmha_kernels()["fwd_hd128_bf16_rtna"]
    asked, arch = parse_signature(signature, None), load_archs()["gfx942"]
    (finding,) = judge(asked, kernel.config, Backend.ASM, arch)
    assert finding.rule == "asm.kernel.signature" and finding.measured == signature
    assert "computes other attention" in str(asm_fmha.unavailable(make_instance(asked, kernel.config, ()), "gfx942"))


def test_what_names_say() -> None:
    causal = asm_fmha_kernels()["fwd_hd192_hd128_bf16_causal_group"]
    asked = constraints_of(causal.signatures[0], causal.config)
    assert (asked.m0, asked.n0, asked.hdim_q, asked.hdim_v, asked.d_multiple) == (256, 128, 192, 128, 0)
    assert asked.causal_only and not asked.needs_keys
    plain = asm_fmha_kernels()["fwd_hd128_bf16_rtne"]
    asked = constraints_of(plain.signatures[1], plain.config)
    assert (asked.m0, asked.n0) == (256, 32) and asked.needs_keys and not asked.causal_only
    assert [one.canonical() for one in plain.signatures] == ["fmha_bf16", "fmha_bf16_lse"]
    paged = asm_fmha_kernels()["pa_fp16_noquant_gqa16_1tg_4w"]
    asked = constraints_of(paged.signatures[0], paged.config)
    assert (asked.page_multiple, asked.max_page, asked.max_rows, asked.max_group) == (16, 16, 1, 16)
    assert asked.needs_keys and asked.needs_finite and asked.causal_only
    assert paged.signatures[1].canonical() == "fmha_fp16_masked_blocktable_vectorized"


@pytest.mark.parametrize(
    ("signature", "target", "sizes", "kernel"),
    [
        ("bf16", GFX942, {"seqlen_q": 4096, "seqlen_k": 4096}, "fwd_hd128_bf16_rtna"),
        ("bf16_masked", GFX942, {"seqlen_q": 4000, "seqlen_k": 5000}, "fwd_hd128_bf16_causal_rtna"),
        ("bf16_varlen_masked_lse", GFX942, {"seqlen_q": 4096, "seqlen_k": 4096}, "fwd_hd128_bf16_causal_rtna_group"),
        ("bf16_varlen", GFX950, {"seqlen_q": 4096, "seqlen_k": 4096, "min_seqlen_k": 1}, "fwd_hd128_bf16_group"),
    ],
)
def test_long_sequences_take_amds_kernels(signature: str, target: Target, sizes: dict[str, int], kernel: str) -> None:
    assert chosen(signature, target, **sizes) == kernel


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({}, "pa_bf16_noquant_gqa8_1tg_4w"),
        ({"heads_q": 96}, "pa_bf16_noquant_gqa16_1tg_4w"),
        ({"heads_q": 136}, None),
        ({"page_size": 32}, None),
        ({"page_size": 8}, None),
        ({"seqlen_q": 2}, None),
        ({"min_seqlen_k": 0}, None),
        ({"finite_kv": False}, None),
        ({"pages": 65536}, "pa_bf16_noquant_gqa8_1tg_4w"),
        ({"pages": 65537}, None),
        ({"pages": 0}, None),
    ],
)
def test_rows_over_pages(changes: dict[str, object], taken: str | None) -> None:
    sizes = {
        "batch": 64,
        "seqlen_q": 1,
        "seqlen_k": 4096,
        "page_size": 16,
        "pages": 9,
        "min_seqlen_k": 1,
        "finite_kv": True,
    }
    shape = FmhaShape(**{"heads_q": 32, "heads_k": 8, "hdim_q": 128, "hdim_v": 128, **sizes, **changes})  # type: ignore[arg-type]
    query = FmhaQuery(plan(), GFX942, parse_signature("bf16_blocktable_vectorized", None), shape)
    found = [one.instance.config.text() for one in walk(query) if one.finding is None]
    assert [one for one in found if one.startswith("pa")] == ([taken] if taken else [])


@pytest.mark.parametrize(
    ("signature", "sizes"),
    [
        ("bf16", {"seqlen_q": 1, "seqlen_k": 4096}),
        ("bf16", {"seqlen_q": 4096, "seqlen_k": 0}),
        ("bf16", {"seqlen_q": 4096, "seqlen_k": 4096, "hdim_q": 64, "hdim_v": 64}),
        ("bf16_varlen", {"seqlen_q": 4096, "seqlen_k": 4096}),
        ("bf16_masked", {"seqlen_q": 4096, "seqlen_k": 4096, "window_left": 127}),
        ("bf16_masked", {"seqlen_q": 4096, "seqlen_k": 5000, "corner": FmhaCorner.TOP_LEFT}),
    ],
)
def test_others_take_another_backends_kernel(signature: str, sizes: dict[str, object]) -> None:
    """Few rows, no keys, other heads, sequences that may have no key, masks that are not causal."""
    assert not chosen(signature, GFX942, **sizes).startswith("fwd")


def test_a_name_that_no_kernel_has_is_an_error_with_its_place() -> None:
    text = "op: fmha\nname: mine\nsignatures: bf16\nbackend: asm\ntargets: gfx942\nkernels: fwd_hd256_bf16\n"
    with pytest.raises(InputError) as error:
        load_kernel_set(text, "mine.yaml")
    (said,) = error.value.diagnostics
    assert said.code == "K007" and "fwd_hd128_bf16_causal_rtna" in str(said.hint) and said.location.line == 6
