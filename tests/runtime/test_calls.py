"""Operations called with tensors give what their definitions say, and refuse what they cannot take in a sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attention_tensors import attention_tensors, rows_of
from calls_library import A, DlPack, Interface, W, aligned, floats, library_on
from ckgen.families.common.comparison import compare
from ckgen.families.common.storage import encode
from ckgen.families.fmha import operands as fmha_operands
from ckgen.families.fmha import reference as fmha_reference
from ckgen.families.fmha.signature import parse_canonical as parse_fmha
from ckgen.families.gemm import reference, reference_data
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.grouped_gemm import reference as grouped_reference
from ckgen.families.moe import reference as moe_reference
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import GroupSize, Routing
from ckgen.model.tuned_row import Shape
from ckgen.runtime import Library, RuntimeFailure, Unsupported
from ckgen.tensors import TensorError

pytestmark = pytest.mark.cpp
SEED = 3


@pytest.fixture
def lib() -> Library:
    return library_on("cpu")


def gemm_tensors(name: str, shape: Shape) -> tuple[reference.Operands, dict[str, Any]]:
    """Operands, and the tensors of a call of a GEMM of rcr or rrr."""
    operands = reference_data.make_operands(parse_canonical(name), shape, SEED)
    signature = operands.signature
    batched = bool(shape.batch)

    def cut(array: Any) -> Any:
        return array if batched else array[0]

    a = encode(operands.a, signature.a)
    b = encode(operands.b, signature.b)
    b = b if signature.layout.b_is_row_major else np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    given = {"a": cut(a), "b": cut(b)}
    for side in ("a_scale", "b_scale"):
        scale = getattr(operands, side)
        if scale is not None:
            made = encode(scale, signature.scale)
            given[side] = np.ascontiguousarray(made if made.ndim == 1 else cut(made))
    if operands.bias is not None:
        given["bias"] = operands.bias.astype(np.float32)
    given["d"] = tuple(cut(encode(np.broadcast_to(d, (d.shape[0], *d.shape[1:])), signature.c)) for d in operands.d)
    return operands, given


@pytest.mark.parametrize(
    ("name", "shape", "device", "options"),
    [
        ("gemm_fp32_rcr", Shape(0, 5, 33, 70), "cpu", {}),
        ("gemm_fp32_rrr", Shape(0, 5, 33, 70), "cpu", {}),
        ("gemm_fp32_rcr_batched", Shape(3, 5, 33, 70), "cpu", {}),
        ("gemm_fp32_rcr_bias", Shape(0, 5, 33, 70), "cpu", {}),
        ("gemm_fp32_rcr_epi_add_relu", Shape(0, 5, 33, 70), "cpu", {"epilogue": ("add", "relu")}),
        ("gemm_bf16_rcr", Shape(0, 16, 64, 128), "gfx942:304", {}),
        ("gemm_fp8_fnuz_bf16_rcr_rowwise", Shape(0, 16, 64, 512), "gfx942:304", {}),
        ("gemm_int8_bf16_rcr_rowwise", Shape(0, 16, 64, 512), "gfx942:304", {}),
        ("gemm_fp8_fnuz_bf16_rcr_blockscale", Shape(0, 16, 256, 512), "gfx942:304", {}),
    ],
)
def test_a_gemm_of_tensors_is_its_definition(name: str, shape: Shape, device: str, options: dict[str, Any]) -> None:
    operands, given = gemm_tensors(name, shape)
    found = library_on(device).gemm(**given, **options)
    assert compare(reference.expect(operands), found.astype(np.float64)).ok


def test_block_scales_may_lie_in_columns() -> None:
    operands, given = gemm_tensors("gemm_fp8_fnuz_bf16_rcr_blockscale", Shape(0, 16, 256, 512))
    turned = given | {"a_scale": np.asfortranarray(given["a_scale"])}
    assert turned["a_scale"].strides != given["a_scale"].strides
    found = library_on("gfx942:304").gemm(**turned)
    assert compare(reference.expect(operands), found.astype(np.float64)).ok


def test_tensors_with_gaps_and_results_of_the_callers_are_taken_where_they_are(lib: Library) -> None:
    wide = floats(6, 96)
    a, w, out = wide[:5, 7:71], floats(40, 64), np.full((8, 64), 7, np.float32)
    found = lib.gemm(a, w.T, out=out[1:6, 3:43])
    assert found.base is out
    np.testing.assert_allclose(out[1:6, 3:43], a @ w.T, atol=1e-5)
    out[1:6, 3:43] = 7
    assert (out == 7).all()


def test_frameworks_without_copies(lib: Library) -> None:
    a, w = floats(5, 64), floats(40, 64, seed=4)
    expected = lib.gemm(a, w.T)
    out = np.zeros((5, 40), np.float32)
    for wrap in (Interface, DlPack):
        out[...] = 0
        assert lib.gemm(wrap(a), wrap(w.T), out=wrap(out)) is not None
        assert (out == expected).all()
    with pytest.raises(TensorError, match="out is left out, and nobody knows how 'DlPack' allocates: give out="):
        lib.gemm(DlPack(a), w.T)


def test_ml_dtypes_keep_their_type(lib: Library) -> None:
    a, w = (floats(*shape).astype(ml_dtypes.bfloat16) for shape in ((5, 64), (40, 64)))
    found = lib.gemm(a, w.T)
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(found.astype(float), a.astype(float) @ w.astype(float).T, rtol=2**-7, atol=1e-3)


def test_groups_of_tensors(lib: Library) -> None:
    signature = parse_canonical("grouped_gemm_fp32_rcr")
    groups = grouped_reference.make_operands(signature, [GroupSize(3, 16, 24), GroupSize(7, 8, 40)], SEED)
    a = [np.ascontiguousarray(one.a[0], np.float32) for one in groups]
    b = [np.ascontiguousarray(one.b[0].T, np.float32).T for one in groups]
    for found, expected in zip(lib.grouped(a, b), grouped_reference.expect(groups), strict=True):
        assert compare(expected, found).ok
    without = np.zeros((5, 0), np.float32), np.zeros((8, 0), np.float32)  # neither strides nor K say a layout
    _, found, empty = lib.grouped([a[0], without[0], a[1][:0]], [b[0], without[1].T, b[1]])
    assert np.array_equal(found, np.zeros((5, 8))) and empty.shape == (0, 8)
    with pytest.raises(TensorError, match="b has 1 tensors, a has 2"):
        lib.grouped(a, b[:1])
    with pytest.raises(TensorError, match="there is no group"):
        lib.grouped([], [])


def test_groups_share_one_matrix_of_block_scales() -> None:
    lib = library_on("gfx942:304")
    each = [gemm_tensors("gemm_fp8_fnuz_bf16_rcr_blockscale", Shape(0, m, 128, 256))[1] for m in (16, 1, 32)]
    a, b, own, of_b = ([one[name] for one in each] for name in ("a", "b", "a_scale", "b_scale"))
    first = np.cumsum([0, *map(len, own)])
    in_rows = np.full((first[-1], 7), np.nan, np.float32)
    in_columns = np.full((2, first[-1] + 5), np.nan, np.float32)
    rows, columns = ([], [])
    for g, scale in enumerate(own):
        rows.append(in_rows[first[g] : first[g + 1], 3:5])
        columns.append(in_columns[:, first[g] : first[g + 1]].T)
        rows[g][...] = columns[g][...] = scale
    expected = lib.grouped(a, b, a_scale=own, b_scale=of_b)
    assert not np.isnan(np.concatenate(expected).astype(np.float32)).any()
    for shared in (rows, columns):
        found = lib.grouped(a, b, a_scale=shared, b_scale=of_b)
        assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    with pytest.raises(TensorError, match="a_scale of some groups lies in rows and of others in columns"):
        lib.grouped(a, b, a_scale=[rows[0], *columns[1:]], b_scale=of_b)
    with pytest.raises(TensorError, match="neither rows nor columns without gaps"):
        lib.gemm(a[0], b[0], a_scale=rows[0], b_scale=of_b[0])


@pytest.mark.parametrize(
    "name", ["moe_fp32_rcr_layer_gated_epi_silu", "moe_fp8_fnuz_bf16_rcr_blockscale_layer_gated_epi_silu"]
)
def test_a_layer_of_experts(lib: Library, name: str) -> None:
    signature = parse_canonical(name)
    operands = moe_reference.make_operands(signature, moe_reference.MoeSize(9, 128, 256, Routing(4, 2)), SEED)
    assert operands.w1 is not None and operands.w2 is not None
    w1, w2 = (
        np.ascontiguousarray(encode(one.values.swapaxes(1, 2), signature.b)) for one in (operands.w1, operands.w2)
    )
    scales = {
        f"{side}_scale": np.ascontiguousarray(values, np.float32)
        for side, values in (("a", operands.a_scale), ("w1", operands.w1.scales), ("w2", operands.w2.scales))
        if values is not None
    }
    found = lib.moe(encode(operands.a, signature.a), w1, w2, operands.ids, operands.weights, **scales)
    assert compare(moe_reference.expect(operands, adds_in_c=True), found.astype(np.float64)).ok


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fmha_fp32", {}),
        ("fmha_fp32_masked", {"causal": True}),
        ("fmha_fp32_lse", {"with_lse": True}),
        ("fmha_bf16", {}),
        ("fmha_bf16_sink", {}),
        ("fmha_bf16_softcap", {}),
        ("fmha_bf16_elementwise", {}),
        ("fmha_bf16_alibi", {}),
        ("fmha_bf16_varlen", {}),
        ("fmha_bf16_varlen_masked", {"causal": True}),
        ("fmha_bf16_blocktable", {}),
        ("fmha_bf16_masked_blocktable_vectorized", {"causal": True}),
        ("fmha_bf16_masked_lse_dropout", {"causal": True, "with_lse": True}),
    ],
)
def test_attention_of_tensors_is_its_definition(lib: Library, name: str, options: dict[str, Any]) -> None:
    signature = parse_fmha(name)
    paged = signature.traits.is_paged
    shape = FmhaShape(2, 4, 2, 9, 32, 64, 64, page_size=16 if paged else 0, pages=8 if paged else 0)
    operands = fmha_operands.make_operands(signature, shape, SEED)
    found = lib.attention(**attention_tensors(operands), **options)
    expected = fmha_reference.expect(operands)
    out = found[0] if isinstance(found, tuple) else found
    rows = out.astype(np.float64)
    if signature.traits.varlen:
        part = rows_of(rows, np.cumsum([0, *operands.lengths.q]))
        rows = np.zeros(expected.o.c.shape)
        rows[:, : part.shape[1]] = part
    assert compare(expected.o, rows).ok
    if isinstance(found, tuple):
        assert compare(expected.lse, found[1]).ok


def test_columns_of_one_matrix_do_not_overlap(lib: Library) -> None:
    both = np.zeros((5, 104), np.float32)
    both[:, :64] = A
    for _ in range(2):
        lib.gemm(both[:, :64], W.T, out=both[:, 64:])
    np.testing.assert_allclose(both[:, 64:], A @ W.T, atol=1e-5)


def test_a_kept_plan_runs_with_tensors_and_with_the_callers_workspace(lib: Library) -> None:
    plan = lib.plan("gemm_fp32_rcr", Shape(0, 5, 40, 64))
    out = np.zeros((5, 40), np.float32)
    lib.run_plan(plan, a=A, b=W.T, out=out, workspace=aligned(max(plan.workspace_size, 64)))
    assert (out == lib.gemm(A, W.T)).all()
    with pytest.raises(RuntimeFailure, match=r"the arguments are for M=4 .* the plan for M=5"):
        lib.run_plan(plan, a=A[:4], b=W.T, out=out[:4])
    with pytest.raises(Exception, match="bee is no tensor of gemm: out, a, b"):
        lib.run_plan(plan, a=A, b=W.T, out=out, bee=out)


def test_a_call_of_a_device_that_is_not_the_cpus_has_twins(lib: Library) -> None:
    lib.use("gfx942:304")
    assert lib.device.target == "gfx942:304"
    np.testing.assert_allclose(lib.gemm(A, W.T), A @ W.T, atol=1e-5)
    with pytest.raises(Unsupported, match=r"gemm_fp32_rcr on gfx950:256 .*: no instance"):
        lib.use("gfx950:256")
        lib.gemm(A, W.T)


def test_a_simulated_shape_is_planned_as_its_own(lib: Library) -> None:
    choice = lib.choice("gemm_fp32_rcr", replace(Shape(0, 5, 40, 64), m=7))
    assert choice.instance is not None
    assert not lib.is_tuned("gemm_fp32_rcr", Shape(0, 7, 40, 64))
