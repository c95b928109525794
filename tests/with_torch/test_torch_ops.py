"""torch's own view of ckgen's operations: checked, traced, compiled, differentiated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import ckgen.torch
from calls_library import library_on
from ckgen.families.common.comparison import Expected, compare
from ckgen.families.fmha.backward_operands import BackwardOperands
from ckgen.families.fmha.operands import make_operands
from ckgen.families.fmha.reference_backward import expect_backward
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.tuned_row import Shape
from ckgen.torch import state

pytestmark = pytest.mark.cpp
FP8 = torch.float8_e4m3fnuz
GROUP = 128


@pytest.fixture(autouse=True)
def library() -> Iterator[None]:
    torch.manual_seed(5)
    ckgen.torch.use(library_on("cpu"))
    yield
    state._library = None


def quantised(x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows in groups of 128 as fp8, and their scales."""
    groups = x.float().unflatten(-1, (-1, GROUP))
    scale = groups.abs().amax(-1).clamp_min(1e-12) / 240
    return (groups / scale[..., None]).flatten(-2).to(FP8), scale


class BlockScaled(torch.nn.Module):
    """A linear layer whose weights are fp8 in blocks of 128 x 128."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        weight = torch.randn(outputs, inputs) / inputs**0.5
        blocks = weight.unflatten(0, (-1, GROUP)).unflatten(2, (-1, GROUP))
        scale = blocks.abs().amax((1, 3)) / 240
        self.register_buffer("weight", (blocks / scale[:, None, :, None]).reshape(outputs, inputs).to(FP8))
        self.register_buffer("scale", scale)

    def forward(self, x: Tensor) -> Tensor:
        a, a_scale = quantised(x)
        return ckgen.torch.gemm(a, self.weight.T, a_scale=a_scale, b_scale=self.scale)

    def reference(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The result in fp64, and what a sum in fp32 and one rounding to bf16 may be off by."""
        a, a_scale = quantised(x)
        wide = a.double() * a_scale.double().repeat_interleave(GROUP, -1)
        scale = self.scale.double().repeat_interleave(GROUP, 0).repeat_interleave(GROUP, 1)
        weight = self.weight.double() * scale
        c, most = wide @ weight.T, wide.abs() @ weight.T.abs()
        by_sum = (x.shape[-1] + 8) * 2.0**-24 * most
        return c, by_sum + 2.0**-8 * (c.abs() + by_sum)


class Block(torch.nn.Module):
    """Attention of two heads, and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = BlockScaled(128, 256), BlockScaled(256, 128)

    def forward(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (2, 64))
        mixed = ckgen.torch.attention(heads, heads, heads, causal=True)
        rows = mixed.flatten(-2).flatten(0, 1)
        return self.down(torch.relu(self.up(rows))).unflatten(0, x.shape[:2]) + x


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of inductor's own code
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.long)])
def test_a_block_of_two_layers_and_attention_compiles_whole(backend: str) -> None:
    block, x = Block(), torch.randn(2, 24, 128).bfloat16()
    eager = block(x)
    compiled = torch.compile(block, fullgraph=True, backend=backend)(x)
    assert torch.equal(eager, compiled)  # every step between the operations is exact in fp32, or one rounding


def test_each_layer_of_the_block_is_its_definition() -> None:
    block, x = Block(), torch.randn(48, 128).bfloat16()
    hidden = block.up(x)
    for layer, given, found in ((block.up, x, hidden), (block.down, hidden, block.down(hidden))):
        c, bound = layer.reference(given)
        assert ((found.double() - c).abs() <= bound).all()
    heads = torch.randn(2, 24, 2, 64).bfloat16()
    found = ckgen.torch.attention(heads, heads, heads, causal=True)
    turned = heads.double().transpose(1, 2)
    exact = torch.nn.functional.scaled_dot_product_attention(turned, turned, turned, is_causal=True).transpose(1, 2)
    most = heads.double().abs().amax()
    # P is rounded to bf16, each with a relative error of 2^-9, and so is O; the rest is fp32
    assert ((found.double() - exact).abs() <= 2.0**-8 * most + 2.0**-8 * exact.abs()).all()


def cases() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    ops = torch.ops.ckgen
    a, w = torch.randn(5, 64), torch.randn(40, 64)
    q = torch.randn(1, 6, 2, 64)
    experts = torch.randn(4, 256, 64), torch.randn(4, 64, 128)
    ids = torch.tensor([[0, 1], [2, 3], [1, 3], [0, 2], [3, 1]], dtype=torch.int32)
    none = (None,) * 6
    routed = (ids, torch.rand(5, 2), None, None, None)
    return {
        "gemm": (ops.gemm, (a, w.T, None, None, None, [], "", 1.0, None, None, False, False, None)),
        "grouped": (ops.grouped, ([a, a], [w.T, w.T], [], [], None, None, None)),
        "moe": (
            ops.moe,
            (a, *experts, *routed, "silu", False, None, None, False, None),
        ),
        "attention": (ops.attention, (q, q, q, *none, None, False, None, 0.0, 0, 0, True, 0.0, 0, 0)),
        "attention_backward": (ops.attention_backward, backward_arguments()),
    }


def backward_arguments() -> tuple[Any, ...]:
    q, k = torch.randn(1, 6, 2, 64).bfloat16(), torch.randn(1, 9, 2, 64).bfloat16()
    out, lse = ckgen.torch.attention(q, k, k, with_lse=True)
    return (torch.randn_like(q), q, k, k, out, lse, *(None,) * 5, False, None, 0.0, 0, 0, 0.0, 0, 0, False, False)


@pytest.mark.parametrize("name", ["gemm", "grouped", "moe", "attention", "attention_backward"])
def test_torch_s_own_checks_of_an_operation_pass(name: str) -> None:
    op, arguments = cases()[name]
    torch.library.opcheck(op.default, arguments)


def test_a_product_has_its_gradients() -> None:
    a, w = torch.randn(5, 64, requires_grad=True), torch.randn(40, 64, requires_grad=True)
    ckgen.torch.gemm(a, w.T).square().sum().backward()
    found = a.grad, w.grad
    a.grad = w.grad = None
    (a @ w.T).square().sum().backward()
    torch.testing.assert_close(found, (a.grad, w.grad), rtol=1e-5, atol=1e-3)
    with pytest.raises(UsageError, match="ckgen::gemm has a backward without scales, bias and epilogue alone"):
        ckgen.torch.gemm(a, w.T, bias=torch.zeros(40)).sum().backward()
    with pytest.raises(UsageError, match="ckgen::grouped has no backward"):
        ckgen.torch.grouped([a], [w.T])[0].sum().backward()


def bounded(found: Tensor, expected: Expected) -> bool:
    """Each element within what the definition's roundings allow."""
    return bool(compare(expected, found.detach().double().numpy()).ok)


@pytest.mark.parametrize("name", ["fmha_bf16_bwd", "fmha_bf16_bwd_masked_dropout", "fmha_bf16_bwd_masked"])
def test_attention_has_its_gradients(name: str) -> None:
    """Held against the definition, of the O and lse that forward gave."""
    signature = parse_canonical(name)
    operands = make_operands(signature, FmhaShape(2, 4, 2, 9, 32, 64, 64), 11)
    q, k, v = (torch.from_numpy(one).bfloat16().requires_grad_() for one in (operands.q, operands.k, operands.v))
    drawn = operands.dropout
    said = {"dropout": drawn.p_drop, "seed": drawn.seed, "offset": drawn.offset} if drawn is not None else {}
    causal = signature.traits.masked
    out = ckgen.torch.attention(q, k, v, scale=operands.scale, causal=causal, **said)
    assert isinstance(out, Tensor)
    with torch.no_grad():
        _, lse = ckgen.torch.attention(q, k, v, scale=operands.scale, causal=causal, with_lse=True, **said)
    dout = torch.randn(out.shape).bfloat16()
    out.backward(dout)
    given = BackwardOperands(operands, *(one.detach().double().numpy() for one in (out, lse, dout)))
    expected = expect_backward(given)
    for one, exact in ((q, expected.dq), (k, expected.dk), (v, expected.dv)):
        assert one.grad is not None and bounded(one.grad, exact)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_gradients_are_traced_with_the_graph() -> None:
    q, k = (torch.randn(2, rows, 4, 64).bfloat16().requires_grad_() for rows in (9, 17))
    grads = []
    for run in (attend, torch.compile(attend, fullgraph=True, backend="aot_eager")):
        q.grad = k.grad = None
        run(q, k).sum().backward()  # a gradient of stride 0
        grads.append((q.grad, k.grad))
    assert all(torch.equal(one, other) for one, other in zip(*grads, strict=True))


def attend(q: Tensor, k: Tensor) -> Tensor:
    found = ckgen.torch.attention(q, k, k, causal=True)
    assert isinstance(found, Tensor)
    return found * 2


def test_gradients_that_nobody_computes_are_refused() -> None:
    q, k = torch.randn(1, 6, 2, 64).bfloat16().requires_grad_(), torch.randn(1, 9, 2, 64).bfloat16()
    out, lse = ckgen.torch.attention(q, k, k, with_lse=True)
    with pytest.raises(UsageError, match="ckgen::attention has no gradient through lse"):
        (out.sum() + lse.sum()).backward()
    found, _ = torch.ops.ckgen.attention(q, k, k, *(None,) * 7, False, None, 0.0, 0, 0, False, 0.0, 0, 0)
    with pytest.raises(UsageError, match=r"ckgen::attention's backward reads lse: call ckgen\.torch\.attention"):
        found.sum().backward()


def test_sizes_may_be_symbols() -> None:
    w = torch.randn(40, 64)
    compiled = torch.compile(lambda a: ckgen.torch.gemm(a, w.T) + 1, fullgraph=True, backend="aot_eager", dynamic=True)
    for rows in (5, 9):
        a = torch.randn(rows, 64)
        assert torch.equal(compiled(a), ckgen.torch.gemm(a, w.T) + 1)


def test_without_a_library_it_says_how_to_name_one() -> None:
    state._library = None
    with pytest.raises(UsageError, match=r"no library answers ckgen's operations: ckgen.torch.use\(ckgen.jit"):
        ckgen.torch.gemm(torch.randn(5, 64), torch.randn(40, 64).T)


def test_tensors_of_torch_are_read_where_they_are() -> None:
    lib = library_on("cpu")
    a, w, out = torch.randn(5, 64), torch.randn(40, 64), torch.zeros(5, 40)
    for _ in range(2):
        out.zero_()
        assert lib.gemm(a, w.T, out=out) is out
        torch.testing.assert_close(out, a @ w.T)
    with pytest.raises(ValueError, match="a is on torch's device 'meta', which has no memory that kernels read"):
        lib.gemm(a.to("meta"), w.T, out=out)
    with pytest.raises(ValueError, match=r"a is torch.sparse_coo, and kernels read strided tensors"):
        lib.gemm(a.to_sparse(), w.T, out=out)
    parameter = torch.nn.Parameter(w)
    assert torch.equal(lib.gemm(a, parameter.T), out)
    assert not ckgen.torch.is_tuned("gemm_fp32_rcr", Shape(0, 5, 40, 64))
