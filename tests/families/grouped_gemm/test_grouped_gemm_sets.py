"""Grouped GEMM's kernel sets: pinned counts, kernels that are legal where asked for, a default for any sizes."""

from __future__ import annotations

import random

import pytest

from ckgen.families.gemm.config import CkTileConfig, HostConfig
from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.enums import Op, Quant
from ckgen.families.gemm.kernel_set import KernelCandidate
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.kernel_sets import SHIPPED, shipped_set
from ckgen.families.rules import judge
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs

COUNTS = {"default": (556, 94), "ci": (12, 6), "full": (1392, 15), "matrix": (27, 18), "asm": (0, 0)}
ARCHS = load_archs()


@pytest.mark.parametrize("name", SHIPPED)
def test_counts_are_pinned(name: str) -> None:
    found = shipped_set(name, "grouped_gemm")
    assert (len(found), len({one.signature for one in found})) == COUNTS[name]
    assert all(one.signature.op is Op.GROUPED_GEMM for one in found)
    assert not any(one.signature.op is Op.GROUPED_GEMM for op in ("gemm", "stream_k") for one in shipped_set(name, op))


@pytest.mark.parametrize("name", ["default", "ci", "matrix"])
def test_every_kernel_is_legal_where_it_is_asked_for(name: str) -> None:
    for one in shipped_set(name, "grouped_gemm"):
        for arch in one.archs or {"x86_64_v3"}:
            signature = one.signature.resolved(ARCHS[arch].fp8_flavour)
            assert not signature.problems() and judge(signature, one.config, one.backend, ARCHS[arch]) == (), one


def of_arch(arch: str) -> dict[GemmSignature, list[KernelCandidate]]:
    found: dict[GemmSignature, list[KernelCandidate]] = {}
    for one in shipped_set("default", "grouped_gemm"):
        if one.is_for(arch):
            found.setdefault(one.signature.resolved(ARCHS[arch].fp8_flavour), []).append(one)
    return found


def is_free(signature: GemmSignature) -> bool:
    """Whether the GPU kernels take any size: they are those of plain products."""
    return signature.quant is Quant.NONE and not signature.preshuffle_b


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "x86_64_v3", "x86_64_v4", "x86_64_amx"])
def test_every_legal_problem_has_a_default(arch: str) -> None:
    generator = random.Random(3)
    sizes = [1, 2, 3, 15, 17, 100, 129, 4096]
    assert of_arch(arch)
    for signature, ones in of_arch(arch).items():
        step = {Quant.BLOCKSCALE: 128, Quant.MX: 64}.get(signature.quant, 2 if signature.b is DType.INT4 else 1)
        n_step, k_step = (16, max(step, 64)) if signature.preshuffle_b else (1, step)
        for _ in range(40):
            m, n, k = (generator.choice(sizes) for _ in range(3))
            shape = Shape(0, m, n * n_step, k * k_step)
            assert check(signature, shape) is None
            answered = any(supports(constraints_of(signature, one.config), shape, 1) is None for one in ones)
            assert answered or not (arch.startswith("x86") or is_free(signature)), (signature, shape)
        roomy = Shape(0, 7, 1024, 4096)
        assert any(supports(constraints_of(signature, one.config), roomy, 1) is None for one in ones), signature


def test_plain_products_come_in_both_forms_on_gpus() -> None:
    for signature, ones in of_arch("gfx942").items():
        forms = {one.config.persistent for one in ones if isinstance(one.config, CkTileConfig)}
        assert forms == ({False, True} if is_free(signature) and not signature.epilogue else {False}), signature


def test_the_cpu_has_two_kernels_for_each_signature() -> None:
    for ones in of_arch("x86_64_v3").values():
        assert len(ones) == 2 and all(isinstance(one.config, HostConfig) for one in ones)
