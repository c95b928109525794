"""Epilogues and operands of two tensors on the host, twins and host instances, against the float64 reference."""

import ctypes
import itertools
from dataclasses import replace

import host_backend as hb
import numpy as np
import pytest

from ckgen.families.elements import encode
from ckgen.families.gemm.reference import Operands, expect
from ckgen.families.gemm.reference_data import d_sizes, make_operands
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.tuned_row import Shape

pytestmark = pytest.mark.cpp

TILE = (64, 32, 32)
SHAPE = Shape(batch=3, m=37, n=70, k=100)
EPILOGUES = ["add", "mul", "relu", "gelu", "silu", "scale", "add_relu", "mul_add", "scale_mul_gelu", "relu_add_add"]
STRATEGIES = ["any", "data_parallel", "atomic", "linear", "tree"]
OPERANDS = ["a_add", "b_mul", "a_mul_b_add"]


@pytest.fixture(scope="session")
def lib(tmp_path_factory):
    return hb.load(hb.build(tmp_path_factory.mktemp("host_fused")))


class Call:
    """A problem in padded memory; what is written between rows would be seen."""

    def __init__(self, lib, operands, pad=3):
        self.lib, self.operands, self.signature = lib, operands, operands.signature
        s, self.kept = self.signature, []
        batch, m, k = operands.a.shape
        n = operands.b.shape[-1]
        a, lda, stride_a = self.matrix(operands.a, s.a, s.layout.value[0] == "r", pad)
        b, ldb, stride_b = self.matrix(operands.b, s.b, s.layout.value[1] == "r", pad)
        self.c = np.full((batch, m, n + pad), 99, hb.NUMPY[s.c.value])
        self.args = hb.Args(
            a=a, b=b, c=self.c.ctypes.data, m=m, n=n, k=k, batch=batch, lda=lda, ldb=ldb, ldc=n + pad,
            batch_stride_a=stride_a, batch_stride_b=stride_b, batch_stride_c=m * (n + pad), alpha=operands.alpha,
        )  # fmt: skip
        if operands.a1 is not None:
            self.args.a1 = self.matrix(operands.a1, s.a, s.layout.value[0] == "r", pad)[0]
        if operands.b1 is not None:
            self.args.b1 = self.matrix(operands.b1, s.b, s.layout.value[1] == "r", pad)[0]
        for i, d in enumerate(operands.d):
            self.args.d[i], ldd, stride = self.matrix(d, s.c, True, pad + i)
            self.args.ldd[i] = ldd if d.shape[1] == m else 0
            self.args.batch_stride_d[i] = stride if d.shape[0] > 1 else 0
        if operands.bias is not None:
            self.kept.append(operands.bias.astype(np.float32))
            self.args.bias = self.kept[-1].ctypes.data

    def matrix(self, values, dtype, row_major, pad):
        values = values if row_major else values.swapaxes(1, 2)
        between = 3 if dtype.value == "int8" else np.nan
        memory = np.full((*values.shape[:2], values.shape[2] + pad), between, hb.NUMPY[dtype.value])
        memory[:, :, : values.shape[2]] = encode(values, dtype)
        self.kept.append(memory)
        return memory.ctypes.data, memory.shape[2], memory.shape[1] * memory.shape[2]

    def traits(self):
        s = self.signature
        return hb.traits_of(
            self.lib, s.a.value, s.b.value, s.c.value, s.layout.value, bias=s.bias,
            epilogue=[op.value for op in s.epilogue], a_op=s.a_op.value, b_op=s.b_op.value,
        )  # fmt: skip

    def twin(self, k_batch=1, mode=0):
        traits, config = self.traits(), hb.TwinConfig(*TILE, mode, True, True, True)
        message = ctypes.create_string_buffer(240)
        pointers = (ctypes.byref(traits), ctypes.byref(config), ctypes.c_int64(k_batch), ctypes.byref(self.args))
        return self.lib.shim_twin(*pointers, message), message.value.decode()

    def stream_k(self, strategy, workgroups):
        traits, config = self.traits(), hb.TwinConfig(*TILE, 0, True, True, True)
        message = ctypes.create_string_buffer(240)
        pointers = (ctypes.byref(traits), ctypes.byref(config), STRATEGIES.index(strategy), ctypes.c_int64(workgroups))
        return self.lib.shim_twin_stream_k(*pointers, ctypes.byref(self.args), message), message.value.decode()

    def host(self, isa):
        traits, message = self.traits(), ctypes.create_string_buffer(240)
        tiles = (ctypes.c_int32 * 2)()
        assert self.lib.shim_tiles(ctypes.byref(traits), isa, tiles, 1) == 1
        config = hb.HostConfig(isa, *tiles, 32, 48, 64, 0)
        code = self.lib.shim_host(ctypes.byref(traits), ctypes.byref(config), ctypes.byref(self.args), message)
        return code, message.value.decode()

    def excess(self):
        """The error in units of its bound."""
        n = self.args.n
        assert (self.c[:, :, n:].astype(np.float64) == 99).all(), "wrote between rows"
        return expect(self.operands).excess(self.c[:, :, :n].astype(np.float64))


def names():
    for dtype, layout, epilogue in itertools.product(("fp16", "bf16"), ("rcr",), EPILOGUES):
        yield f"gemm_{dtype}_{layout}_batched_epi_{epilogue}"
    for layout, operand in itertools.product(hb.LAYOUTS, OPERANDS):
        yield f"gemm_fp16_{layout}_batched_{operand}"
    yield from (
        "gemm_bf16_rrr_batched_a_add_b_mul_epi_mul_silu_add",
        "gemm_fp32_ccr_batched_a_mul_epi_add_gelu",
        "gemm_bf16_fp32_crr_batched_bias_epi_mul_relu",
        "gemm_int8_fp16_rcr_batched_bias_epi_scale_add",
    )


@pytest.mark.parametrize("seed", [0, 1])  # which D is one row for all
@pytest.mark.parametrize("name", [*names()])
def test_within_the_bound(lib, name, seed):
    call = Call(lib, make_operands(parse_canonical(name), SHAPE, seed))
    assert call.twin() == (0, "")
    assert call.excess() <= 1
    twin = call.c.copy()
    for isa in (isa for isa in range(4) if lib.shim_isa_available(isa)):
        call.c[:] = 99
        assert call.host(isa) == (0, "")
        assert call.excess() <= 1
        dots = {call.signature.a.value, call.signature.b.value} <= {"bf16"} and isa >= 2
        if not dots or call.operands.a1 is not None:
            assert np.array_equal(call.c.view(np.uint8), twin.view(np.uint8)), "every ISA computes the same"


@pytest.mark.parametrize("name", ["gemm_fp16_rcr_batched_epi_mul_add", "gemm_fp16_rrr_a_mul_epi_mul"])
def test_a_step_left_out_is_seen(lib, name):
    operands = make_operands(parse_canonical(name), SHAPE, 0)
    call = Call(lib, operands)
    assert call.twin()[0] == 0
    assert call.excess() <= 1
    for wrong in (replace(operands, d=operands.d[::-1]) if len(operands.d) > 1 else None,
                  replace(operands, d=tuple(-d for d in operands.d)),
                  replace(operands, a1=-operands.a1) if operands.a1 is not None else None):  # fmt: skip
        if wrong is not None:
            call.operands = wrong
            assert call.excess() > 10


@pytest.mark.parametrize(("op", "function"), [
    ("gelu", lambda x: x / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    ("silu", lambda x: x / (1 + np.exp(-x))),
])  # fmt: skip
def test_gates_within_their_error(lib, op, function):
    """2^-21 |x| at a quarter of a million points, and what large arguments come to."""
    x = np.concatenate(
        [np.linspace(-95, 95, 200_000), np.geomspace(1e-30, 1e3, 30_000), -np.geomspace(1e-30, 90, 30_000)]
    )
    a = x.astype(np.float32).astype(np.float64).reshape(1, -1, 1)
    call = Call(lib, Operands(parse_canonical(f"gemm_fp32_rcr_epi_{op}"), a, np.ones((1, 1, 1))), pad=0)
    assert call.twin()[0] == 0
    with np.errstate(over="ignore"):
        error = np.abs(call.c.astype(np.float64) - function(a))
    worst = (error / (2.0**-21 * np.abs(a))).max()
    assert 0.01 < worst <= 1


def test_splits_take_no_epilogue(lib):
    call = Call(lib, make_operands(parse_canonical("gemm_fp16_rcr_epi_relu"), SHAPE, 0))
    code, message = call.twin(k_batch=2, mode=1)
    assert (code, message) == (1, "k_batch=2: an epilogue takes whole sums")


@pytest.mark.parametrize("strategy", ["linear", "tree"])
@pytest.mark.parametrize("name", ["gemm_fp16_rcr_batched_epi_mul_add", "gemm_bf16_rrr_a_add_b_mul_epi_add_gelu"])
def test_stream_k_finishes_a_tile_once(lib, name, strategy):
    """As data-parallel, whether a tile is split among workgroups or not."""
    call = Call(lib, make_operands(parse_canonical(name), SHAPE, 1))
    for workgroups in (1, 5, 7):
        call.c[:] = 99
        assert call.stream_k(strategy, workgroups) == (0, "")
        assert call.excess() <= 1


def test_atomic_stream_k_takes_no_epilogue(lib):
    call = Call(lib, make_operands(parse_canonical("gemm_fp16_rcr_epi_relu"), SHAPE, 0))
    assert call.stream_k("atomic", 5) == (1, "atomic stream-K adds parts: an epilogue takes whole sums")


def test_refusals(lib):
    def refused(**changes):
        call = Call(lib, make_operands(parse_canonical("gemm_fp16_rcr_batched_a_add_b_mul_epi_add_mul"), SHAPE, 0))
        for name, value in changes.items():
            field, _, index = name.partition("_at_")
            if index:
                getattr(call.args, field)[int(index)] = value
            else:
                setattr(call.args, field, value)
        code, message = call.twin()
        assert code == 2
        return message

    assert refused(d_at_1=None) == "d1 is null"
    assert refused(ldd_at_0=69) == "ldd0=69: less than 70"
    assert refused(batch_stride_d_at_0=-1) == "batch_stride_d0=-1: less than 0"
    assert refused(ldd_at_0=1 << 60) == "d0: the extent does not fit in 63 bits"
    assert refused(a1=None) == "a1 is null"
    assert refused(b1=None) == "b1 is null"


def test_every_d_tensor_is_tried_whole_and_as_a_row():
    signature = parse_canonical("gemm_fp16_rcr_batched_epi_add_mul")
    sizes = [d_sizes(signature, SHAPE, seed) for seed in (0, 1)]
    assert sizes == [((3, 37, 70), (1, 1, 70)), ((1, 1, 70), (3, 37, 70))]
