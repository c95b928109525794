"""Attention's gradients of tensors are those of its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_tensors import attention_tensors, rows_of
from calls_library import library_on
from ckgen.families.common.comparison import compare
from ckgen.families.common.storage import encode
from ckgen.families.fmha.backward_operands import BackwardOperands, make_backward_operands
from ckgen.families.fmha.reference_backward import expect_backward
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.runtime import Library
from ckgen.tensors import ShapeMismatch

pytestmark = pytest.mark.cpp
SEED = 5
SHAPE = FmhaShape(2, 4, 2, 9, 32, 64, 48)
NAMES = ("dq", "dk", "dv", "dbias", "dsink")


@pytest.fixture
def lib() -> Library:
    return library_on("cpu")


def call_of(operands: BackwardOperands) -> dict[str, Any]:
    """Tensors and numbers of a call."""
    signature, lengths = operands.forward.signature, operands.forward.lengths
    given = attention_tensors(operands.forward)
    out, dout = (encode(one, signature.a) for one in (operands.o, operands.dout))
    lse = operands.lse.astype(np.float32)
    if signature.traits.varlen:
        out, dout = (np.concatenate([one[b, :n] for b, n in enumerate(lengths.q)]) for one in (out, dout))
        lse = np.concatenate([lse[b, :, :n] for b, n in enumerate(lengths.q)], axis=1)
    return given | {"out": out, "dout": dout, "lse": lse, "causal": signature.traits.masked}


@pytest.mark.parametrize(
    "name",
    [
        "fmha_bf16_bwd",
        "fmha_bf16_bwd_masked_dropout",
        "fmha_bf16_bwd_elementwise",
        "fmha_bf16_bwd_masked_sink",
        "fmha_bf16_bwd_varlen",
    ],
)
def test_gradients_are_their_definition(lib: Library, name: str) -> None:
    signature = parse_canonical(name)
    operands = make_backward_operands(signature, SHAPE, SEED)
    wants = {"with_dbias": operands.forward.bias is not None, "with_dsink": operands.forward.sink is not None}
    found = lib.attention_backward(**call_of(operands), **wants)
    if any(wants.values()):
        alone = lib.attention_backward(**call_of(operands))
        assert alone[3:] == (None, None)
        assert all((a == b).all() for a, b in zip(alone[:3], found[:3], strict=True))
    expected = expect_backward(operands)
    lengths = operands.forward.lengths
    for part, got in zip(NAMES, found, strict=True):
        exact = getattr(expected, part)
        if got is None:
            assert exact is None
            continue
        values = got.astype(np.float64)
        if signature.traits.varlen:
            each = lengths.q if part == "dq" else lengths.k
            rows = rows_of(values, np.cumsum([0, *each]))
            values = np.zeros(exact.c.shape)
            values[:, : rows.shape[1]] = rows
        assert compare(exact, values).ok, part


def test_results_go_where_they_are_asked_for(lib: Library) -> None:
    given = call_of(make_backward_operands(parse_canonical("fmha_bf16_bwd"), SHAPE, SEED))
    dq, dk, dv, *_ = lib.attention_backward(**given)
    own = tuple(np.zeros_like(one) for one in (dq, dk, dv))
    again = lib.attention_backward(**given, dq=own[0], dk=own[1], dv=own[2])
    assert again[0] is own[0] and all((a == b).all() for a, b in zip(own, (dq, dk, dv), strict=True))
    for one in own:
        one[:] = 0
    again = lib.attention_backward(**given, dk=own[1])
    assert again[1] is own[1] and all((a == b).all() for a, b in zip(again[:3], (dq, dk, dv), strict=True))
    plan = lib.plan("fmha_bf16_bwd", SHAPE)
    for one in own:
        one[:] = 0
    scale = given.pop("scale")
    given.pop("causal")
    lib.run_plan(plan, **given, dq=own[0], dk=own[1], dv=own[2], options={"scale": scale})
    assert (own[0] == dq).all()


def test_wrong_calls_say_what_is_wrong(lib: Library) -> None:
    given = call_of(make_backward_operands(parse_canonical("fmha_bf16_bwd"), SHAPE, SEED))
    with pytest.raises(UsageError, match="dbias is asked for, and fmha_bf16_bwd has no bias of elements"):
        lib.attention_backward(**given, with_dbias=True)
    with pytest.raises(ShapeMismatch, match="sink is missing: its gradient is asked for"):
        lib.attention_backward(**given, with_dsink=True)
    with pytest.raises(ShapeMismatch, match=r"lse has shape \(2, 4, 8\), and \(2, 4, 9\) is asked for"):
        lib.attention_backward(**given | {"lse": given["lse"][..., :8].copy()})
    with pytest.raises(ShapeMismatch, match=r"dout has shape .* is asked for as out"):
        lib.attention_backward(**given | {"dout": given["dout"][:, :8]})


def test_dropout_draws_anew_with_each_offset(lib: Library) -> None:
    """Such calls leave no plans behind: an offset is asked for once."""
    q = encode(np.random.default_rng(3).standard_normal((1, 7, 2, 64)), parse_canonical("fmha_bf16").a)
    asked = {"causal": True, "with_lse": True, "dropout": 0.5, "seed": 2**63 + 7}
    first, again, other = (lib.attention(q, q, q, **asked, offset=offset)[0] for offset in (1, 1, 2**40))
    assert (first == again).all() and (first != other).any()
    assert not lib._bound.sites
