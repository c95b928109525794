"""Every signature of GEMMs, groups and experts has a kernel on every arch, or its page says why not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from arch_pages import answers_of, arch_page, words_of
from ckgen.families.gemm.ck_tile_tree import is_unknown
from ckgen.families.gemm.config import FmaConfig
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.registry import FAMILIES
from ckgen.families.robust import robust
from ckgen.model.arch import ArchKind, Vendor
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.selection import Tier, Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.answers import Answer, answered
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.select import select
from ckgen.specs.archs import load_archs
from name_patterns import patterns
from signature_space import every_signature

OPS = (Op.GEMM, Op.GROUPED_GEMM, Op.MOE)
ARCHS = load_archs()


@pytest.mark.parametrize("name", sorted(ARCHS))
def test_a_page_says_why_there_is_no_kernel(name: str, golden: Callable[[str, str], None]) -> None:
    arch = ARCHS[name]
    answers = answers_of(arch)
    for of_op in answers.values():
        for signature, found in of_op:
            assert (found.answer is Answer.NEVER) <= bool(found.why), signature
            assert not (found.why and arch.kind is ArchKind.CPU) or found.answer is Answer.NEVER, signature
    golden(f"../../docs/archs/{name}.md", arch_page(arch, answers))


@pytest.mark.parametrize("name", sorted(ARCHS))
def test_every_type_that_a_gpu_of_amd_has_has_plain_gemms(name: str) -> None:
    """The rules and robust kernels, held against the arch's own file: no reason hides a type that the arch computes.

    Kernels of ck_tile answer those with its matrix instructions, where the CK tree makes code for the arch.
    """
    arch = ARCHS[name]
    if arch.vendor is not Vendor.AMD:
        return
    flavour = arch.fp8_flavour
    for dtype in (DType.FP16, DType.BF16, DType.FP32, DType.FP8, DType.BF8, DType.INT8):
        signature = GemmSignature.of(dtype, DType.BF16).resolved(flavour)
        tiles = arch.warp_tiles_for(Backend.CK_TILE, signature.a, signature.b, signature.acc)
        is_type = flavour is not None or dtype not in (DType.FP8, DType.BF8)
        found = robust(signature, name).configs
        assert (answered(signature, arch).answer is not Answer.NEVER) == is_type == bool(found), signature
        by_tiles = {config.backend for config in found} == {Backend.CK_TILE}
        assert by_tiles == (bool(tiles) and not is_unknown(name)) or not is_type, signature


@pytest.mark.parametrize("op", OPS)
def test_names_come_apart_into_their_words(op: Op) -> None:
    for signature in every_signature(op)[::7]:
        assert "".join(sorted("".join(words_of(signature)))) == "".join(sorted(signature.canonical()))


def test_patterns_stand_for_the_names_alone() -> None:
    names = [("a", "_x", ""), ("a", "_y", ""), ("a", "_x", "_z"), ("a", "_y", "_z"), ("b", "_x", "")]
    assert patterns(names) == ("a{_x,_y}[_z]", "b_x")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("gfx942:304", "gemm_bf16_rcr_bias"),
        ("gfx942:304", "gemm_fp16_fp32_crr_batched_bias_epi_mul_gelu_add"),
        ("gfx90a:104", "gemm_fp16_rcr_preshuffle"),
        ("gfx942:304", "gemm_bf8_fnuz_fp16_rrr"),
        ("gfx1201:32", "gemm_int8_bf16_crr"),
        ("gfx1100:48", "gemm_bf16_fp32_ccr_epi_relu"),
        ("x86_64_v3:2", "gemm_bf16_rcr_preshuffle"),
        ("x86_64_v4:2", "gemm_fp32_fp16_rrr_batched_epi_scale"),
    ],
)
def test_a_signature_that_is_named_is_answered(target: str, name: str) -> None:
    """Sizes of whole fragments: padding beyond them is the kernels' own, and refused with a rule where it is not."""
    gfx, count = target.split(":")
    on, signature = Target(gfx, int(count)), parse_canonical(name)
    plan = make_plan(PlanOptions(targets=(on,), named=(name,)), ARCHS)
    query = FAMILIES["gemm"].query(plan, on, signature, Shape(2 if signature.batched else 0, 48, 96, 160), Wishes())
    selection = select(query)
    assert selection.tier is Tier.DEFAULT, selection.reason
    assert query.absent() == ""


def test_a_signature_that_is_not_named_is_none_of_the_library() -> None:
    on, name = Target("gfx942", 304), "gemm_fp16_fp32_crr_batched_bias_epi_mul_gelu_add"
    plan = make_plan(PlanOptions(targets=(on,)), ARCHS)
    assert plan.unit(parse_canonical(name)) is None
    assert plan.unit(parse_canonical("gemm_bf16_rcr_bias")) is not None
    assert make_plan(PlanOptions(targets=(on,), signatures=(name,)), ARCHS).unit(parse_canonical(name)) is not None
    globbed = make_plan(PlanOptions(targets=(on,), signatures=(name[:-1] + "*", "gemm_fp16_rcr")), ARCHS)
    assert globbed.unit(parse_canonical(name)) is None


def test_a_kernel_set_goes_before_the_robust_kernel() -> None:
    plan = make_plan(PlanOptions(targets=(Target("gfx942", 304),), named=("gemm_fp16_rcr",)), ARCHS)
    unit = plan.unit(parse_canonical("gemm_fp16_rcr"))
    assert unit is not None and len(unit.default_indices("gfx942")) > 1


@pytest.mark.parametrize(
    ("gfx", "name", "why"),
    [
        ("gfx942", "gemm_fp8_ocp_bf16_rcr", "8-bit floats of gfx942 are of the other flavour"),
        ("gfx1100", "gemm_fp8_ocp_bf16_rcr", "8-bit floats of gfx1100 are none"),
        ("gfx1100", "gemm_fp8_bf16_rcr", "gfx1100 has no such warp tile for fp8"),
        ("gfx942", "gemm_int8_int32_rcr_bias", "ck_tile.multi_abd.bias"),
        ("gfx942", "gemm_fp64_rcr", "kernels without matrix instructions add products in"),
        ("x86_64_v3", "gemm_fp64_rcr", "CPU kernels add products in"),
    ],
)
def test_why_an_arch_has_none(gfx: str, name: str, why: str) -> None:
    found = robust(parse_canonical(name), gfx)
    assert found.configs == () and why in found.why


@pytest.mark.parametrize(
    ("gfx", "name"),
    [
        ("gfx942", "gemm_fp16_int4_fp16_rcr"), ("gfx90a", "gemm_bf16_int4_bf16_rcr_bias"), ("gfx950", "gemm_fp32_rrr"),
        ("gfx942", "gemm_fp8_fnuz_bf16_rcr_rowwise_preshuffle_bias"), ("gfx1100", "gemm_fp32_rcr"),
        ("gfx942", "gemm_int8_bf16_rcr_rowwise_preshuffle"), ("gfx1250", "gemm_fp16_rrr"),
        ("gfx942", "grouped_gemm_fp16_int4_fp16_rcr"), ("gfx1100", "grouped_gemm_fp32_rcr"),
        ("gfx950", "grouped_gemm_fp32_rrr"), ("gfx942", "grouped_gemm_int8_bf16_rcr_rowwise_preshuffle"),
        ("gfx1250", "grouped_gemm_fp16_rrr_bias"),
    ],
)  # fmt: skip
def test_where_no_matrix_instruction_serves_sums_are_multiplied_and_added(gfx: str, name: str) -> None:
    (config,) = robust(parse_canonical(name), gfx).configs
    assert isinstance(config, FmaConfig) and robust(parse_canonical(name), gfx).codeless == ""


def test_on_cpus_both_flavours_are_answered() -> None:
    plan = make_plan(PlanOptions(targets=(Target("x86_64_v3", 2),)), ARCHS)
    for flavour in Fp8Flavour:
        signature = GemmSignature.of(DType.FP8, DType.BF16).resolved(flavour)
        assert plan.unit(signature) is not None
