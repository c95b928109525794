"""Groups, experts and attention of a library with tensors, run on the emulator by their names and arguments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulate_support import library_of
from hip_support import shim
from test_fmha_kernels import instance as attention_kernel
from test_grouped import SKEWED, ask
from test_mxfp8_moe import SHALLOW, STAGES, request

from ckgen.families.common.comparison import compare
from ckgen.families.common.storage import encode
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.moe import reference
from ckgen.families.moe.config import MoePairConfig
from ckgen.model.dtype import DType
from ckgen.model.groups import Routing
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.runtime import Library
from ckgen_emulator.fmha import dispatched
from ckgen_emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen_emulator.gemm.kernel import units_of
from ckgen_emulator.gemm.problem import Data, GemmProblem
from ckgen_emulator.operations import emulated
from ckgen_emulator.production import model

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]


def on_gpu(library: Library, **how: Any) -> emulated.Operations:
    found = library.emulated(seed=5, **how)
    assert isinstance(found, emulated.Operations)
    found.hip = shim()
    return found


def roles(gpu: emulated.Operations) -> list[str]:
    return [launch["kernel"].rpartition("_")[2] for launch in gpu.launches]


def test_groups_are_their_products(tmp_path: Path) -> None:
    """Of integers, whose sums fp16 holds; a group without rows and one without K."""
    # The second problem adds no launch here: with it the kernel is the one that test_grouped.py compiles.
    asked = ask(True, 4, GemmProblem.grouped(SKEWED), GemmProblem.grouped(SKEWED[:1], 2))
    library = library_of(units_of(asked.kernel, [one.use for one in asked.problems]), asked.target, tmp_path)
    dice = np.random.default_rng(3)
    a, b = (
        [dice.integers(-2, 3, sizes).astype(np.float16) for sizes in of]
        for of in ([(70, 72), (0, 72), (3, 72), (16, 0)], [(24, 72), (24, 72), (40, 72), (8, 0)])
    )
    gpu = on_gpu(library)
    found = gpu.grouped(a, [one.T for one in b], instance=asked.kernel.instance.name)
    assert isinstance(found, list) and [one.dtype for one in found] == [np.dtype(np.float16)] * 4
    for group, rows, columns in zip(found, a, b, strict=True):
        assert np.array_equal(group, (rows.astype(np.float64) @ columns.T).astype(np.float16))
    assert roles(gpu) == ["upload", "set"]


def test_a_layer_of_experts_is_its_definition(tmp_path: Path) -> None:
    """Every stage runs as GPU code; the twin's bits, which are within the definition's bounds."""
    layer = GemmProblem(Shape(0, 3, 768, 768), routing=Routing(5, 2))
    asked = request("layer_gated_epi_silu", MoePairConfig(SHALLOW, SHALLOW), layer)
    library = library_of(units_of(asked.kernel, [layer.use]), asked.target, tmp_path)
    signature = asked.kernel.instance.signature
    operands = reference.make_operands(signature, reference.MoeSize(3, 768, 768, Routing(5, 2)), 3)
    assert operands.w1 is not None and operands.w2 is not None
    weights = (operands.w1, operands.w2)
    w1, w2 = (np.ascontiguousarray(encode(one.values.swapaxes(1, 2), signature.b)) for one in weights)
    scales = {
        f"{side}_scale": np.ascontiguousarray(encode(values, DType.E8M0))
        for side, values in (("a", operands.a_scale), ("w1", operands.w1.scales), ("w2", operands.w2.scales))
        if values is not None
    }
    assert sorted(scales) == ["a_scale", "w1_scale", "w2_scale"]
    given = (encode(operands.a, signature.a), w1, w2, operands.ids, operands.weights)
    gpu = on_gpu(library)
    said = {"signature": signature.canonical(), "instance": asked.kernel.instance.name, **scales}
    found = gpu.moe(*given, **said)
    assert compare(reference.expect(operands), found.astype(np.float64)).ok
    assert np.array_equal(found, library.moe(*given, **said))
    assert [launch["kernel"].split("_", 2)[2] for launch in gpu.launches][-len(STAGES) :] == [*STAGES]


def test_attention_over_sequences_is_its_definition(tmp_path: Path) -> None:
    """Unchecked; ck_tile's kernel has a finding (docs/upstream/ck_tile_fmha.md), which is an error by default."""
    kernel = attention_kernel("gfx942")
    problem = FmhaProblem((5, 33, 0), (20, 40, 7), 2, 1, 64, 64, FmhaCorner.BOTTOM_RIGHT, 9, 0, data=Data.RANDOM)
    data = fmha_data(kernel.signature, problem)
    library = library_of(dispatched.units_of(kernel, "gfx942"), Target("gfx942", 304), tmp_path)
    q, k, v = (data.args[name].reshape(-1, heads, 64) for name, heads in (("q", 2), ("k", 1), ("v", 1)))
    said = {
        "seqstart_q": data.args["seqstart_q"],
        "seqstart_k": data.args["seqstart_k"],
        "max_q": 33,
        "max_k": 40,
        "window": (9, 0),
        "with_lse": True,
    }
    gpu = on_gpu(library, checked=False)
    found = gpu.attention(q, k, v, scale=data.args["scale"], **said)
    for output, actual in zip(data.outputs, found, strict=True):
        assert model.compare(replace(output, actual=np.ascontiguousarray(actual).reshape(-1))).wrong == 0
    assert roles(gpu) == ["forward"]
    with pytest.raises(emulated.EmulatorFinding, match="_forward: lds_race: "):
        on_gpu(library).attention(q, k, v, scale=data.args["scale"], **said)
