"""Every instance of the shipped tables runs on this CPU and agrees with the definition."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pytest
from parity_support import Parity

from ckgen.families.common.comparison import Expected
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.families.gemm.reference import Operands, expect
from ckgen.families.gemm.reference_data import make_integers, make_operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import levels_of
from ckgen.model.backend import Backend
from ckgen.model.tuned_row import Shape
from ckgen.quickstart.verify import Buffers
from ckgen.runtime import RuntimeFailure
from planted_errors import unreported

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

M, LEAST_N, LEAST_K = 19, 40, 72


def small_shape(instance: Instance) -> Shape:
    """A shape with tails wherever the instance allows them, on both sides of its own tile where that is cheap."""
    asked = instance.constraints
    batch = 2 if instance.signature.batched else 0
    m = min(_at_least(max(M, asked.min_m), asked.m_multiple), asked.max_m or sys.maxsize)
    for n in (LEAST_N, LEAST_N + 8, 48, 64, 128, 256, 512):
        for k in (LEAST_K, LEAST_K + 8, 96, 128, 256):
            shape = Shape(batch, m, _at_least(n, asked.n_multiple), _at_least(max(k, asked.min_k), asked.k_multiple))
            if check(instance.signature, shape) is None and supports(asked, shape, 1) is None:
                return shape
    raise AssertionError(f"no small shape for {instance.name}")


@cache
def problem(signature: GemmSignature, shape: Shape) -> tuple[Operands, Expected]:
    operands = make_operands(signature, shape, seed=3)
    return operands, expect(operands)


def test_every_instance_computes_what_the_definition_says(ladder_parity: Parity) -> None:
    device = ladder_parity.library.host()
    levels = levels_of(device.target.partition(":")[0])
    simulated = {arch: ladder_parity.library.simulated(arch) for arch in ("gfx90a", "gfx942", "gfx950")}
    ran = 0
    for instance in ladder_parity.plan.instances:
        shape = small_shape(instance)
        operands, expected = problem(instance.signature, shape)
        buffers = Buffers.of(operands, shape)
        asked = ladder_parity.library.problem(
            instance.signature.canonical(), shape.m, shape.n, shape.k, batch=max(shape.batch, 1)
        )
        on = device if instance.backend is Backend.HOST else simulated[instance.archs[0]]
        if instance.backend is Backend.HOST and instance.archs[0] not in levels:
            with pytest.raises(RuntimeFailure, match="no instance of this signature was built for this device"):
                ladder_parity.dispatcher.plan(asked, on, instance.name)
            continue
        plan = ladder_parity.dispatcher.plan(asked, on, instance.name)
        assert not plan.refusal, (instance.name, plan.refusal)
        ladder_parity.dispatcher.run(plan, buffers.args)
        assert expected.excess(buffers.c) <= 1, (instance.name, shape)
        ran += 1
    assert ran >= 700


def test_a_skipped_scale_would_be_seen(ladder_parity: Parity) -> None:
    """The check itself can fail: the same run against operands with other scales is far outside the bound."""
    instance = next(i for i in ladder_parity.plan.instances if "_blockscale_ck_" in i.name)
    shape = small_shape(instance)
    operands, _ = problem(instance.signature, shape)
    buffers = Buffers.of(operands, shape)
    asked = ladder_parity.library.problem(instance.signature.canonical(), shape.m, shape.n, shape.k)
    plan = ladder_parity.dispatcher.plan(asked, ladder_parity.library.simulated(instance.archs[0]), instance.name)
    ladder_parity.dispatcher.run(plan, buffers.args)
    assert operands.a_scale is not None
    unscaled = Operands(operands.signature, operands.a, operands.b, np.ones_like(operands.a_scale), operands.b_scale)
    assert expect(unscaled).excess(buffers.c) > 2


def test_planted_errors_are_reported_at_every_problem(ladder_parity: Parity) -> None:
    problems = {(instance.signature, small_shape(instance)) for instance in ladder_parity.plan.instances}
    for signature, shape in problems:
        operands, expected = problem(signature, shape)
        missed = unreported(operands, expected, lambda c, e=expected: e.excess(c) <= 1)  # type: ignore[misc]
        assert not missed, (str(signature), shape, missed)
        exact = make_integers(signature, shape, seed=4)
        of_parts = expect(exact)
        missed = unreported(exact, of_parts, lambda c, e=of_parts: e.excess(c) <= 1, parts=2)  # type: ignore[misc]
        assert not missed, (str(signature), shape, missed)
    assert len(problems) > 40


@pytest.mark.parametrize("k_batch", [2, 4])
def test_a_split_changes_the_partition_and_not_the_result(ladder_parity: Parity, k_batch: int) -> None:
    ran = 0
    for unit in ladder_parity.plan.units:
        for instance in [i for i in unit.instances if i.constraints.max_k_batch >= k_batch][:3]:
            asked = instance.constraints
            k = (
                k_batch
                * max(asked.k_multiple_per_split, 1)
                * -(-max(asked.min_k, 1) // max(asked.k_multiple_per_split, 1))
            )
            shape = Shape(0, M, _at_least(LEAST_N, asked.n_multiple or 16), k)
            if check(unit.signature, shape) is not None or supports(asked, shape, k_batch) is not None:
                continue
            operands = make_integers(unit.signature, shape, seed=4)  # every order of the parts gives one result
            buffers = Buffers.of(operands, shape)
            problem_struct = ladder_parity.library.problem(unit.name, shape.m, shape.n, shape.k)
            device = ladder_parity.library.simulated(instance.archs[0])
            plan = ladder_parity.dispatcher.plan(problem_struct, device, instance.name, k_batch)
            ladder_parity.dispatcher.run(plan, buffers.args)
            assert expect(operands).excess(buffers.c) <= 1, (instance.name, shape, k_batch)
            ran += 1
    assert ran >= 20


def _at_least(size: int, multiple: int) -> int:
    return size if not multiple else -(-size // multiple) * multiple
