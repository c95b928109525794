"""Block scales of every kind, int4 weights and mx on the host, held against the float64 reference."""

import ctypes
import itertools
from dataclasses import replace

import host_backend as hb
import numpy as np
import pytest

from ckgen.families.common.storage import encode
from ckgen.families.gemm.enums import SCALE_BLOCK_K, SCALE_BLOCK_N
from ckgen.families.gemm.host_panels import Panels, panels_of
from ckgen.families.gemm.reference import expect, store_a, store_b
from ckgen.families.gemm.reference_data import make_integers, make_operands
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.tuned_row import Shape
from ckgen_emulator.gemm.problem import GemmProblem, operands_of

pytestmark = pytest.mark.cpp

SHAPE = Shape(batch=2, m=37, n=150, k=256)
SMALL = Shape(0, 20, 40, 128)
FLAVOURS = ("fnuz", "ocp")
FIRST_WITH_DOTS = hb.ISAS.index("x86_64_v4_bf16")


@pytest.fixture(scope="session")
def lib(tmp_path_factory):
    return hb.load(hb.build(tmp_path_factory.mktemp("host_quant")))


class Call:
    """A problem without gaps; a side without scales has a null pointer."""

    def __init__(self, lib, operands):
        self.lib, self.operands, self.signature = lib, operands, operands.signature
        s = self.signature
        batch, m, k = operands.a.shape
        n = operands.b.shape[-1]
        scales = [encode(x, s.scale) if x is not None else None for x in (operands.a_scale, operands.b_scale)]
        self.kept = [store_a(operands), store_b(operands), *scales]
        self.c = np.full((batch, m, n), 99, hb.NUMPY[s.c.value])
        a, b, a_scale, b_scale = (x.ctypes.data if x is not None else None for x in self.kept)
        self.args = hb.Args(
            a=a, b=b, c=self.c.ctypes.data, a_scale=a_scale, b_scale=b_scale, a_scale_row_major=True, m=m, n=n, k=k,
            batch=batch, lda=k, ldb=k, ldc=n, batch_stride_a=m * k, batch_stride_b=n * k, batch_stride_c=m * n,
        )  # fmt: skip

    def traits(self):
        s, block = self.signature, self.signature.scale_block
        traits = hb.traits_of(
            self.lib, s.a.value, s.b.value, s.c.value, s.layout.value, s.quant.value, s.preshuffle_b, s.bias
        )
        traits.scale_sides, traits.scale_n, traits.scale_k = (
            ["both", "a", "b"].index(str(block.sides)),
            block.n,
            block.k,
        )
        return traits

    def twin(self, k_batch=1, mode=0, tile=(64, 32, 32)):
        traits, config = self.traits(), hb.TwinConfig(*tile, mode, True, True, True)
        message = ctypes.create_string_buffer(240)
        pointers = (ctypes.byref(traits), ctypes.byref(config), ctypes.c_int64(k_batch), ctypes.byref(self.args))
        return self.lib.shim_twin(*pointers, message), message.value.decode()

    def tiles(self, isa):
        """The first register tile and the last, which is of tile instructions where there are such."""
        sizes = (ctypes.c_int32 * 64)()
        count = self.lib.shim_tiles(ctypes.byref(self.traits()), isa, sizes, 32)
        return {tuple(sizes[:2]), tuple(sizes[2 * count - 2 : 2 * count])}

    def host(self, isa, tile):
        traits, message = self.traits(), ctypes.create_string_buffer(240)
        config = hb.HostConfig(isa, *tile, 32, 48, 128, 0)
        code = self.lib.shim_host(ctypes.byref(traits), ctypes.byref(config), ctypes.byref(self.args), message)
        return code, message.value.decode()

    def excess(self):
        """The error in units of its bound."""
        return expect(self.operands).excess(self.c)


def names():
    for n, k in itertools.product(SCALE_BLOCK_N, SCALE_BLOCK_K):
        yield f"gemm_fp8_ocp_bf16_rcr_blockscale_batched_scales_b_{n}x{k}"
        if (n, k) != (128, 128):
            yield f"gemm_fp8_fnuz_fp16_rcr_blockscale_batched_scales_both_{n}x{k}"
    for k, flavour in itertools.product(SCALE_BLOCK_K, FLAVOURS):
        yield f"gemm_fp8_{flavour}_bf8_{flavour}_fp32_rcr_blockscale_batched_scales_a_128x{k}"
        yield f"gemm_fp8_{flavour}_int4_bf16_rcr_blockscale_batched_scales_b_1x{k}"
    for a in ("fp16", "bf16", "fp8_fnuz", "bf8_ocp"):
        yield f"gemm_{a}_int4_fp32_rcr_batched"
        yield f"gemm_{a}_int4_bf16_rcr_blockscale_batched_scales_b_1x32"
    for a in ("fp4", "fp8_ocp", "bf8_ocp"):
        yield f"gemm_{a}_bf16_rcr_mx_batched"
    yield "gemm_fp8_ocp_fp4_bf16_rcr_mx_batched"
    yield "gemm_fp8_ocp_fp4_fp16_rcr_mx_preshuffle_batched"


def canonical(name):
    signature = parse_canonical(name)
    assert signature.problems() == ()
    return signature


@pytest.mark.parametrize("name", [*names()])
def test_within_the_bound(lib, name):
    signature = canonical(name)
    shape = replace(SHAPE, n=160) if signature.preshuffle_b else SHAPE
    call = Call(lib, make_operands(signature, shape, 5))
    assert call.twin() == (0, "")
    assert call.excess() <= 1
    twin = call.c.copy()
    for isa in (isa for isa in range(4) if lib.shim_isa_available(isa)):
        for tile in call.tiles(isa):
            call.c[:] = 99
            assert call.host(isa, tile) == (0, "")
            assert call.excess() <= 1, (isa, tile)
            if panels_of(signature, has_dots=isa >= FIRST_WITH_DOTS) is not Panels.BF16:
                assert np.array_equal(call.c.view(np.uint8), twin.view(np.uint8)), "one K after the other everywhere"


@pytest.mark.parametrize("name", [
    "gemm_fp8_fnuz_bf16_rcr_blockscale_scales_b_8x32", "gemm_fp8_ocp_fp16_rcr_blockscale_scales_a_128x64",
    "gemm_fp8_ocp_int4_bf16_rcr_blockscale_scales_b_1x128", "gemm_bf16_int4_fp32_rcr", "gemm_fp8_ocp_fp4_bf16_rcr_mx",
])  # fmt: skip
def test_exact_where_every_sum_is(lib, name):
    """Small integers and scales of powers of two: one result is right. A code or a scale elsewhere is seen."""
    operands = operands_of(canonical(name), GemmProblem(replace(SHAPE, batch=1)))
    call, exact = Call(lib, operands), expect(operands).c
    assert call.twin() == (0, "")
    assert np.array_equal(call.c.astype(np.float64), exact)
    for scales in ("a_scale", "b_scale"):
        values = getattr(operands, scales)
        if values is not None:
            moved = expect(replace(operands, **{scales: np.roll(values, 1, axis=-1)})).c
            assert not np.array_equal(moved, exact)
    assert not np.array_equal(expect(replace(operands, b=np.roll(operands.b, 1, axis=-2))).c, exact)


@pytest.mark.parametrize("mode", [1, 2])
def test_splits_end_inside_a_scale_group(lib, mode):
    make = make_integers if mode == 2 else make_operands  # which adds up in C
    call = Call(lib, make(canonical("gemm_fp8_ocp_bf16_rcr_blockscale_scales_b_64x128"), Shape(0, 20, 70, 384), 1))
    assert call.twin(k_batch=3, mode=mode, tile=(32, 32, 16)) == (0, "")
    assert call.excess() <= 1


def test_int4_is_twos_complement_low_nibble_first(lib):
    """Every code, at both places of a byte."""
    b = np.arange(-8.0, 8.0)
    operands = make_operands(canonical("gemm_fp16_int4_fp32_rcr"), Shape(0, 2, 16, 16), 0)
    a = np.zeros((1, 2, 16))
    a[0, 0, 0] = a[0, 1, 1] = 1
    values = np.zeros((1, 16, 16))
    values[0, 0], values[0, 1] = b, b[::-1]
    call = Call(lib, replace(operands, a=a, b=values))
    assert call.kept[1].reshape(16, 8)[0, 0] == 0x78
    assert call.twin() == (0, "")
    assert call.c[0].tolist() == [b.tolist(), b[::-1].tolist()]


@pytest.mark.parametrize(("sides", "missing"), [("both", "ab"), ("a", "a"), ("b", "b")])
def test_only_the_side_that_has_scales_needs_them(lib, sides, missing):
    operands = make_operands(canonical(f"gemm_fp8_ocp_bf16_rcr_blockscale_scales_{sides}_128x64"), SMALL, 0)
    for side in "ab":
        call = Call(lib, operands)
        setattr(call.args, f"{side}_scale", None)
        expected = (2, f"{side}_scale is null") if side in missing else (0, "")
        assert call.twin() == expected


def test_a_side_without_scales_reads_none(lib):
    """Whatever the pointer of the other side says, results are those of a null one."""
    operands = make_operands(canonical("gemm_fp8_ocp_bf16_rcr_blockscale_scales_b_128x64"), SMALL, 0)
    call = Call(lib, operands)
    unread = np.full(4096, np.nan, np.float32)
    call.args.a_scale = unread.ctypes.data
    assert call.twin() == (0, "")
    assert call.excess() <= 1


def test_refusals(lib):
    for change, code, words in (
        ({"a": "int8"}, 1, "no host kernel for a=int8 b=int4"),
        ({"layout": "rrr"}, 1, "an int4 B is packed along K"),
        ({"preshuffle_b": 1}, 1, "an int4 B is packed along K"),
        ({"scale_k": 0}, 2, "scale block is out of range"),
    ):
        call = Call(lib, make_operands(canonical("gemm_fp16_int4_fp32_rcr"), SMALL, 0))
        traits = call.traits()
        for field, value in change.items():
            ids = {"a": lambda t: lib.shim_dtype(t.encode()), "layout": hb.LAYOUTS.index}
            setattr(traits, field, ids.get(field, int)(value))
        call.traits = lambda traits=traits: traits
        got, message = call.twin()
        assert (got, words in message) == (code, True), message
