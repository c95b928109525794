"""A row's bytes are the same whatever rows stand beside it, where that is asked for: executed on this CPU."""

from __future__ import annotations

import pytest
from invariance_support import runner
from parity_support import Parity

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.reference import Operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape
from rounding_data import MS, bytes_of_row, rounding_operands

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

N, K = 32, 256
WIDE_N = 256
"""Of GPU kernels, whose N is of whole tiles."""


def operands_of(signature: GemmSignature, n: int = N, rows: int = max(MS)) -> Operands:
    return rounding_operands(signature, Shape(2 if signature.batched else 0, rows, n, K))


@pytest.mark.parametrize(
    "level",
    ["", pytest.param("x86_64_v3:1", marks=pytest.mark.long), pytest.param("x86_64_v4:2", marks=pytest.mark.long)],
)
def test_every_signature_of_this_cpu(ladder_parity: Parity, level: str) -> None:
    """By the level that it is, and by those below it. Without the wish few rows have kernels of their own, whose order
    of additions is another one."""
    library = ladder_parity.library
    device, differ, ran = library.simulated(level) if level else library.host(), set(), 0
    level = str(device).partition(":")[0]
    for unit in ladder_parity.plan.units:
        signature = unit.signature
        if signature.op is not Op.GEMM or not unit.default_indices(level):
            continue
        operands = operands_of(signature)
        found = bytes_of_row(operands, runner(ladder_parity, device, signature, invariant=True))
        assert len(set(found.values())) == 1, (unit.name, found.keys())
        free = bytes_of_row(operands, runner(ladder_parity, device, signature, invariant=False), (1, 257))
        differ |= {unit.name} if len(set(free.values())) > 1 else set()
        assert signature.acc is not DType.INT32 or len(set(free.values())) == 1, unit.name
        ran += 1
    assert ran > 30 and len(differ) > 20, (ran, differ)


def test_twins_of_gpu_kernels(ladder_parity: Parity) -> None:
    """Chosen for each M; a named kernel that has no order is refused."""
    differ, ran = 0, 0
    for unit in ladder_parity.plan.units:
        signature = unit.signature
        target = next((one for one in ("gfx942:304", "gfx950:256") if unit.default_indices(one[:6])), None)
        if target is None or signature.op is not Op.GEMM:
            continue
        device, operands = ladder_parity.library.simulated(target), operands_of(signature, WIDE_N, 257)
        asked = ladder_parity.library.problem(unit.name, 17, WIDE_N, K, batch=operands.a.shape[0], batch_invariant=True)
        if ladder_parity.dispatcher.select(asked, device).instance is None:
            continue
        ms = (1, 2, 17, 257)
        found = bytes_of_row(operands, runner(ladder_parity, device, signature, invariant=True), ms)
        assert len(set(found.values())) == 1, (unit.name, found.keys())
        free = bytes_of_row(operands, runner(ladder_parity, device, signature, invariant=False), (1, 257))
        differ += len(set(free.values())) > 1
        ran += 1
    assert ran > 30 and differ > 10, (ran, differ)


def test_another_split_is_seen(ladder_parity: Parity) -> None:
    """What the wish keeps apart does give other bytes."""
    instances = ladder_parity.plan.instances
    split = next(one for one in instances if one.name.startswith("gemm_fp8_fnuz_bf16_rcr_blockscale_ck_")
                 and one.constraints.max_k_batch > 1 and one.constraints.min_k < 512)  # fmt: skip
    device, operands = (
        ladder_parity.library.simulated("gfx942:304"),
        rounding_operands(split.signature, Shape(0, 17, WIDE_N, 1024)),
    )
    found = {
        k_batch: runner(ladder_parity, device, split.signature, invariant=False, instance=split.name, k_batch=k_batch)(
            operands, 17
        ).tobytes()
        for k_batch in (1, 2)
    }
    assert found[1] != found[2] and split.order_in(1) != split.order_in(2)
