"""AMD's assembly MoE kernels by ckgen's own launchers: the calls that AMD's host code makes, and right results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.unit import prepare_symbol
from ckgen.families.gemm.enums import EpilogueOp, MoePart
from ckgen.families.gemm.instance import Instance
from ckgen.families.moe.asm_kernels import AsmMoeKernel, asm_moe_kernels
from ckgen.families.moe.device import asm_moe
from ckgen.families.registry import make_instance
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs
from ckgen_emulator.host_unit import Call
from ckgen_emulator.moe.call import call, link
from ckgen_emulator.moe.problem import PartProblem
from ckgen_emulator.production import fused_moe, moe_stage1
from ckgen_emulator.production.model import Launch, Output
from ckgen_emulator.production.routing import Routing
from ckgen_emulator.production.run import SIDE_BY_SIDE, run_launch
from ckgen_emulator.production.wheel import KernelFile, production_wheel

COMPUTE_UNITS = 8  # what the production kind's persistent kernels share
NAMES = {kernel.config.name: kernel for kernel in asm_moe_kernels().values()}
LAYERS = (
    "fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x192",
    "fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_ps_32x256",
)
FIRSTS = (
    "fmoe_stage1_bf16_pertokenFp8_doweight_g1u1_32x64_4tg_pf3",
    "fmoe_stage1_bf16_pertokenInt8_g1u1_64x128_2tg_pf3",
)


def instance_of(kernel: AsmMoeKernel, arch: str, activation: EpilogueOp = EpilogueOp.SILU) -> Instance:
    (signature,) = (one for one in kernel.signatures(load_archs()[arch].fp8_flavour) if one.epilogue == (activation,))
    return make_instance(signature, kernel.config, module="fmoe", table_kernel=kernel.symbol, archs=kernel.archs)


def library(instance: Instance, arch: str, folder: Path) -> Path:
    """The host unit, which is C++ without HIP, as a library."""
    unit = folder / "unit.cpp"
    unit.write_text(render_device_unit(asm_moe.host_unit(instance, {arch: asm_moe.KIND.all_variants(instance)})))
    return link(unit, prepare_symbol(instance.id), instance.signature, arch, folder)


def file_of(kernel: AsmMoeKernel, arch: str) -> KernelFile:
    found = kernel.on(arch)
    assert found is not None
    return KernelFile(arch, found.path.removeprefix(f"aiter_meta/hsa/{arch}/").removesuffix(".co"))


def ours(instance: Instance, launch: Launch, problem: PartProblem, folder: Path, **sizes: int) -> Call:
    """Our launcher's call for the arrays of a production launch."""
    arch, first = "gfx942", instance.signature.moe.part is MoePart.GATE_UP
    if first:
        x, w1, x_scale, w1_scale, valid, ids, id_weights, blocks = launch.inputs
        arrays = {"a": x, "w1": w1, "a_scale": x_scale, "w1_scale": w1_scale}
    else:
        x, w1, w2, valid, ids, id_weights, blocks, x_scale, w1_scale, w2_scale = launch.inputs
        arrays = {"a": x, "w1": w1, "w2": w2, "a_scale": x_scale, "w1_scale": w1_scale, "w2_scale": w2_scale}
    arrays["c"] = launch.outputs[0].actual
    routing = Routing(np.empty(0, np.int64), np.empty(0, np.float32), ids, id_weights, blocks, valid)
    usual = {"lda": problem.k, "ldc": problem.n if first else problem.k, "block_m": instance.config.macro_tile.m}
    return call(library(instance, arch, folder), problem, arrays, routing, {**usual, "cu_num": COMPUTE_UNITS, **sizes})


@pytest.mark.parametrize("name", (*LAYERS, *FIRSTS))
def test_calls_and_results(name: str, tmp_path: Path) -> None:
    """Argument bytes as the production kind's, then a run of our call: blocks behind the last one do nothing."""
    kernel = NAMES[name]
    kind, key = (fused_moe.KIND, "wide") if kernel.part is MoePart.LAYER else (moe_stage1.KIND, "few")
    file, wheel = file_of(kernel, "gfx942"), production_wheel()
    made = kind.problems(file)[key]
    launch = kind.prepare(file, made, np.random.default_rng(0))
    inter = kernel.config.tile.n * (made.splits if kernel.part is MoePart.LAYER else made.tiles)
    problem = PartProblem(made.tokens, inter, made.model, made.experts, made.choices)
    found = ours(instance_of(kernel, "gfx942"), launch, problem, tmp_path)
    assert found.args == launch.arguments
    assert found.block == (launch.block, 1, 1) and found.grid[0] == launch.grid[0] and found.grid[1] >= launch.grid[1]
    assert found.clear_bytes == (launch.outputs[0].actual.nbytes if kernel.part is MoePart.LAYER else 0)
    blocks = launch.inputs[-4 if kernel.part is MoePart.LAYER else -1]
    longer = np.concatenate([blocks, np.full(max(found.grid[1] - len(blocks), 0), -1, np.int32)])
    arguments = found.args.replace(blocks.ctypes.data.to_bytes(8, "little"), longer.ctypes.data.to_bytes(8, "little"))
    run = replace(launch, grid=found.grid, arguments=arguments, inputs=(*launch.inputs, longer))
    outcome = run_launch(kind, file, key, run, SIDE_BY_SIDE, wheel)
    assert outcome.right


def test_refusals(tmp_path: Path) -> None:
    """The order of scales, gaps in what gate_up writes, sizes beyond 32 bits."""
    layer, first = NAMES[LAYERS[1]], NAMES[FIRSTS[0]]
    problem = PartProblem(5, 512, 512, 3, 2)
    empty = np.zeros(64, np.uint8)
    for kernel, wanted, sizes in (
        (layer, "not a_scale_row_major", {"a_scale_row_major": True}),
        (first, "without gaps", {"ldc": 520}),
        (first, "whole pieces", {"lda": 520}),
        (first, "more than", {"lda": 1 << 32}),
    ):
        inputs = (empty,) * (8 if kernel is first else 10)
        launch = Launch((1, 1, 1), 256, b"", inputs, (Output("c", empty, empty, 0.0),))
        with pytest.raises(UsageError, match=wanted):
            ours(instance_of(kernel, "gfx942"), launch, problem, tmp_path, **sizes)


def test_what_kernels_compute() -> None:
    """Each kernel's signatures are legal on its archs, and an instance of another one is unavailable."""
    for kernel in NAMES.values():
        for arch in kernel.archs:
            for signature in kernel.signatures(load_archs()[arch].fp8_flavour):
                assert not signature.problems()
                instance = instance_of(kernel, arch, signature.epilogue[0])
                assert asm_moe.unavailable(instance, arch) is None
    layer = instance_of(NAMES[LAYERS[0]], "gfx942")
    assert "another layer" in str(asm_moe.unavailable(layer, "gfx950"))
    assert "shipped for" in str(asm_moe.unavailable(layer, "gfx90a"))
