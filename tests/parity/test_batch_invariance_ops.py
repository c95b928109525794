"""Rows of groups, tokens of experts and requests of attention: the same bytes alone and among others, on this CPU."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from invariance_support import runner
from parity_support import Parity

from ckgen.families.common.storage import decode, encode
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.enums import MoePart, Op
from ckgen.families.gemm.reference import of_rows
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.reference import MoeOperands, MoeSize, make_operands, of_tokens
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import Groups, GroupSize, Routing
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.quickstart.verify import Buffers
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaStridesStruct
from ckgen.runtime.grouped import GroupedArgsStruct, GroupOperandsStruct, GroupSizeStruct
from ckgen_emulator.gemm.memory import Buffers as Memory
from ckgen_emulator.gemm.moe_call import MoeCall
from ckgen_emulator.gemm.problem import GemmProblem, ScaleOrder
from plan_support import REAL_TABLES, plan_of
from rounding_data import bytes_of_row, cancelling, rounding_operands, wide

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

SIGNATURES = (
    "gemm_bf16_rcr", "grouped_gemm_bf16_rcr", "grouped_gemm_fp32_rcr", "grouped_gemm_fp8_ocp_bf16_rcr_rowwise",
    "grouped_gemm_fp8_ocp_bf16_rcr_blockscale",
    "moe_bf16_rcr_layer_gated_epi_silu", "moe_bf16_rcr_down", "moe_fp8_ocp_bf16_rcr_blockscale_layer_gated_epi_silu",
    "fmha_bf16_varlen_masked", "fmha_fp32_varlen_masked",
)  # fmt: skip
ROWS = (1, 2, 17, 33, 128)
N, K = 64, 384
ROUTING = Routing(4, 2)
HEADS_Q, HEADS_K, HDIM = 4, 2, 64
OWN, OTHERS = (3, 150), ((1, 40), (40, 300), (9, 9))
"""Queries and keys of the request that is looked at, and of others: with more than 32 rows K and V are packed."""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Parity:
    plan = plan_of(
        REAL_TABLES,
        targets=(Target("x86_64_v4_bf16", 2), Target("x86_64_v3", 2)),
        ops=frozenset({"gemm", "grouped_gemm", "moe", "fmha"}),
        signatures=SIGNATURES,
    )
    return Parity(plan, "invariance", tmp_path_factory.mktemp("invariance"))


def signatures(parity: Parity, op: Op) -> list[Any]:
    found = [unit.signature for unit in parity.plan.units if unit.signature.op == op]
    assert found
    return found


def test_another_instruction_is_seen(ops: Parity) -> None:
    """Dot products of bf16 and one product after the other: of one order each, and another."""
    host = ops.library.host()
    if "v4_bf16" not in str(host) and "amx" not in str(host):
        pytest.skip("this CPU has no dot products of bf16")
    (signature,) = signatures(ops, Op.GEMM)
    (unit,) = (one for one in ops.plan.units if one.signature == signature)
    of_order = {one.order.whole: one.name for one in unit.instances if one.order.whole}
    operands, found = rounding_operands(signature, Shape(0, 33, N, K)), set()
    for name in of_order.values():
        run = runner(ops, host, signature, invariant=True, instance=name)
        rows = set(bytes_of_row(operands, run, (1, 2, 17, 33)).values())
        assert len(rows) == 1, name
        found |= rows
    assert len(of_order) == len(found) == 2


def of_groups(parity: Parity, signature: GemmSignature, rows: int, beside: int, *, invariant: bool) -> bytes:
    """Row 0 of the last group, which has so many rows, behind one of `beside` rows."""
    most = rounding_operands(replace(signature, op=Op.GEMM), Shape(0, max(ROWS), N, K))
    groups, kept = [GroupSize(m, N, K) for m in (beside, rows) if m], []
    for size in groups:
        kept.append(Buffers.of(of_rows(most, np.arange(size.m)), Shape(0, size.m, N, K)))
    names = ("a", "b", "c", "a_scale", "b_scale", "bias", "d", "lda", "ldb", "ldc", "ldd")
    operands = (GroupOperandsStruct * len(groups))(
        *(GroupOperandsStruct(**{name: getattr(one.args, name) for name in names}) for one in kept)
    )
    sizes = (GroupSizeStruct * len(groups))(*(GroupSizeStruct(one.m, one.n, one.k) for one in groups))
    args = GroupedArgsStruct(
        operands=ctypes.addressof(operands),
        sizes=ctypes.addressof(sizes),
        count=len(groups),
        a_scale_row_major=1,
        alpha=1.0,
    )
    problem = parity.library.grouped_problem(signature.canonical(), Groups.of(groups), batch_invariant=invariant)
    parity.dispatcher.run(parity.dispatcher.plan(problem, parity.library.host()), args)
    return kept[-1].c.reshape(-1, N)[0].tobytes()


def test_a_row_of_a_group_does_not_depend_on_how_many_there_are(ops: Parity) -> None:
    differ = 0
    for signature in signatures(ops, Op.GROUPED_GEMM):
        found = {of_groups(ops, signature, m, beside, invariant=True) for m in ROWS for beside in (0, 5, 90)}
        assert len(found) == 1, signature
        differ += len({of_groups(ops, signature, m, 0, invariant=False) for m in (1, 128)}) > 1
    assert differ >= 3


def of_experts(parity: Parity, operands: MoeOperands, tokens: np.ndarray, *, invariant: bool) -> bytes:
    """What the first of these tokens gets."""
    signature, size = operands.signature, operands.size
    call = MoeCall.__new__(MoeCall)
    is_layer = signature.moe.part is MoePart.LAYER
    call.signature, call.operands, call._sorted = signature, of_tokens(operands, tokens), ()
    block_m = 0 if is_layer else 32
    call.problem = GemmProblem(Shape(0, len(tokens), size.n, size.k), routing=ROUTING, block_m=block_m)
    call.expected = SimpleNamespace(c=np.zeros((len(tokens), size.k if is_layer else size.n)))  # type: ignore[assignment]
    problem = call.asked(parity.library)
    problem.batch_invariant = int(invariant)
    memory = Memory(None)
    args = call.arguments(memory, ScaleOrder())
    parity.dispatcher.run(parity.dispatcher.plan(problem, parity.library.host()), args)
    return np.ascontiguousarray(call.c[0]).tobytes()


def rounding_experts(signature: GemmSignature, tokens: int) -> MoeOperands:
    made = make_operands(signature, MoeSize(tokens, 128, 256, ROUTING), 3)
    random = np.random.default_rng(5)
    weights = {
        name: replace(value, values=cancelling(wide(random, value.values, signature.b), -2))
        for name in ("w1", "w2")
        if (value := getattr(made, name)) is not None
    }
    return replace(made, a=cancelling(wide(random, made.a, signature.a), -1), **weights)


def test_a_token_does_not_depend_on_who_shares_its_experts(ops: Parity) -> None:
    differ = 0
    for signature in signatures(ops, Op.MOE):
        operands = rounding_experts(signature, 300)
        batches = [np.arange(m) for m in (1, 2, 17, 33, 300)]
        assert len({of_experts(ops, operands, one, invariant=True) for one in batches}) == 1, signature
        differ += len({of_experts(ops, operands, one, invariant=False) for one in batches}) > 1
    assert differ >= 2


def of_pairs(values: np.ndarray, sign: int) -> np.ndarray:
    """Of each 32 keys the last 16 as the first, times `sign`; behind the last 32, zeros.

    Keys of a pair have one weight and their V cancels: what O holds is what the additions rounded.
    """
    blocks = np.zeros_like(values)
    for first in range(0, len(values) - 31, 32):
        blocks[first : first + 16] = values[first : first + 16]
        blocks[first + 16 : first + 32] = sign * values[first : first + 16]
    return blocks


def of_requests(
    parity: Parity, signature: FmhaSignature, lengths: tuple[tuple[int, int], ...], at: int, *, invariant: bool
) -> bytes:
    """O of one of these requests; each length has the same data wherever it stands."""
    heads = {"q": HEADS_Q, "k": HEADS_K, "v": HEADS_K}

    def data(name: str, length: tuple[int, int]) -> np.ndarray:
        random = np.random.default_rng([*map(ord, name), *length])
        rows = length[0] if name == "q" else length[1]
        drawn = wide(random, np.zeros((rows, heads[name], HDIM)), signature.a, 2)
        return drawn if name == "q" else of_pairs(drawn, 1 if name == "k" else -1)

    stored = {
        name: np.ascontiguousarray(encode(np.concatenate([data(name, one) for one in lengths]), signature.a))
        for name in heads
    }
    o = encode(np.zeros(stored["q"].shape), signature.c)
    starts = [np.concatenate([[0], np.cumsum([one[i] for one in lengths])]).astype(np.int32) for i in (0, 1)]
    strides = {name: FmhaStridesStruct(count * HDIM, HDIM, 0) for name, count in heads.items()}
    args = FmhaArgsStruct(
        **{name: array.ctypes.data for name, array in stored.items()},
        o=o.ctypes.data,
        **{f"{name}_strides": one for name, one in strides.items()},
        o_strides=strides["q"],
        seqstart_q=starts[0].ctypes.data,
        seqstart_k=starts[1].ctypes.data,
        scale=0.1,
    )
    most = [max(one[i] for one in lengths) for i in (0, 1)]
    shape = FmhaShape(
        batch=len(lengths), heads_q=HEADS_Q, heads_k=HEADS_K, seqlen_q=most[0], seqlen_k=most[1], hdim_q=HDIM,
        hdim_v=HDIM, total_q=int(starts[0][-1]),
    )  # fmt: skip
    problem = parity.library.fmha_problem(signature.canonical(), shape, batch_invariant=invariant)
    plan = parity.dispatcher.plan(problem, parity.library.host())
    parity.dispatcher.run(plan, args)
    rows = slice(int(starts[0][at]), int(starts[0][at + 1]))
    assert np.isfinite(decode(o)).all()
    return o[rows].tobytes()


def test_a_request_does_not_depend_on_the_others(ops: Parity) -> None:
    differ = 0
    for signature in signatures(ops, FmhaSignature.op):
        batches = [((OWN,), 0), ((OWN, OWN), 1), ((OWN, *OTHERS), 0), ((*OTHERS, OWN), 3), ((OTHERS[0], OWN), 1)]
        batches += [((OTHERS[1], OWN, *OTHERS), 1)]
        assert len({of_requests(ops, signature, *one, invariant=True) for one in batches}) == 1, signature
        differ += len({of_requests(ops, signature, *one, invariant=False) for one in batches}) > 1
    assert differ >= 1
