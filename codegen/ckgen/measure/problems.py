"""A problem of a command line as a Case, and how much work it is."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ckgen.families.common.signature import Signature
from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.asked import RoutedSizes
from ckgen.fuzz.case import Case
from ckgen.fuzz.fmha_sizes import shape_of
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import Groups
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape

SEED = 1
"""Of operands, and where sequences may differ, of their lengths."""


def case_of(signature: Signature, target: Target, problem: Any) -> Case:
    """`problem` is what a Family's `asked_problem` gives; UsageError for sizes that a Case does not hold."""
    whole: dict[str, Any] = {"signature": signature.canonical(), "target": str(target), "seed": SEED}
    match problem:
        case Shape():
            return Case(**whole, m=problem.m, n=problem.n, k=problem.k, batch=problem.batch or 1)
        case Groups() if problem.are_on_device:
            (most,) = problem.sizes
            return Case(**whole, groups=problem.sizes * problem.count, on_device=True, m=most.m, n=most.n, k=most.k)
        case Groups():
            return Case(**whole, groups=problem.sizes)
        case RoutedSizes():
            shape, routing = problem.shape, problem.routing
            sizes: dict[str, Any] = {"m": shape.m, "n": shape.n, "k": shape.k, "block_m": problem.block_m}
            return Case(**whole, **sizes, experts=routing.experts, top_k=routing.top_k)
        case FmhaShape():
            return _attention(signature, whole, problem)
    raise TypeError(f"a problem of {type(problem).__name__}")


def _attention(signature: Signature, whole: dict[str, Any], shape: FmhaShape) -> Case:
    assert isinstance(signature, FmhaSignature)
    same = ("batch", "heads_q", "heads_k", "hdim_v", "corner", "window_left", "window_right", "sink_tokens",
            "page_size", "rotary_dim")  # fmt: skip
    own: dict[str, Any] = {"m": shape.seqlen_q, "n": shape.seqlen_k, "k": shape.hdim_q, "new": shape.seqlen_new}
    case = Case(**whole, **own, **{name: getattr(shape, name) for name in same})
    made = shape_of(signature, case)
    drawn = ("pages", "total_q")  # follow from the lengths of the sequences
    for one in fields(FmhaShape):
        asked = getattr(shape, one.name)
        if one.name not in drawn and asked not in (getattr(made, one.name), one.default):
            raise UsageError(f"{one.name}={asked}: operands of such a problem are not made")
    return case


def flops(signature: Signature, case: Case) -> int:
    """Multiplications and additions of products, as if nothing were masked; 0 where there are none."""
    if isinstance(signature, FmhaSignature):
        if appends(signature.traits):
            return 0
        return 2 * case.batch * case.heads_q * case.m * case.n * (case.k + case.hdim_v)
    assert isinstance(signature, GemmSignature)
    if case.experts:
        gates = 2 if signature.moe.gated else 1
        products = {MoePart.LAYER: gates + 1, MoePart.DOWN: 1}.get(signature.moe.part, gates)
        return 2 * case.m * case.top_k * case.n * case.k * products
    if case.groups is not None:
        return sum(2 * one.m * one.n * one.k for one in case.groups)
    return 2 * case.m * case.n * case.k * (case.batch if signature.batched else 1)
