"""AMD's kernels of attention's gradients: the calls that AMD's host code makes, whole plans, what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulate_support import context, runtime

from ckgen.build.cache import default_cache
from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.unit import fmha_symbol, prepare_symbol
from ckgen.families.fmha.asm_kernels import AsmFmhaKernel, BackwardForm, asm_fmha_kernels
from ckgen.families.fmha.device import asm_backward
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.registry import make_instance
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen_emulator.bindings import Emulator
from ckgen_emulator.chip import pinned_chip
from ckgen_emulator.fmha.backward import backward_data
from ckgen_emulator.fmha.call import SplitOf, link, partial_bytes, prepare
from ckgen_emulator.fmha.dispatched import dispatched
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.fmha.shipped_backward import shipped_backward_cases
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.host_unit import Call, address
from ckgen_emulator.production import attention_backward
from ckgen_emulator.production.numbers import wide
from ckgen_emulator.production.run import SIDE_BY_SIDE
from ckgen_emulator.production.slots import F32, U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, production_wheel

pytestmark = pytest.mark.amd

PADDED, OWN = "bwd_hd64_bf16_causal_a32_rtne_pssk", "bwd_hd192_hd128_bf16_a32_pssk_own"
CUT = "bwd_hd64_fp16_causal_br_a32_pssk"
GROUP, WINDOWS = "bwd_hd64_bf16_causal_br_a32_rtne_pssk_group", "bwd_hd128_bf16_swa_a32_rtne_psskddv"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupArguments(Arguments):
    """As AMD's host code packs those of sequences one after the other; strides in bytes. Eight bytes each."""

    dq: Pointer = None
    dk: Pointer = None
    dv: Pointer = None
    q: Pointer = None
    k: Pointer = None
    v: Pointer = None
    dout: Pointer = None
    lse: Pointer = None
    delta: Pointer = None
    seqstart_q: Pointer = None
    seqstart_k: Pointer = None
    padded_seqstart_q: Pointer = None
    padded_seqstart_k: Pointer = None
    scale: F32 = 0.0
    log2e: F32 = 0.0
    ratio: U32 = 0
    head_lse: U32 = 0
    all_keys: U32 = 0
    head_q: U32 = 0
    row_q: U32 = 0
    head_k: U32 = 0
    row_k: U32 = 0
    head_v: U32 = 0
    row_v: U32 = 0
    head_dout: U32 = 0
    row_dout: U32 = 0
    head_dk: U32 = 0
    row_dk: U32 = 0
    head_dv: U32 = 0
    row_dv: U32 = 0
    size: U32 = 0


def kernel_of(name: str) -> AsmFmhaKernel:
    return asm_fmha_kernels()[name]


def instance_of(name: str) -> FmhaInstance:
    kernel = kernel_of(name)
    return make_instance(kernel.signatures[0], kernel.config, kernel.archs)


@cache
def library(name: str) -> Path:
    """The host unit, which is C++ without HIP, as a library."""
    instance, folder = instance_of(name), default_cache() / "emulated" / "fmha"
    folder.mkdir(parents=True, exist_ok=True)
    arch = instance.archs[0]
    unit = folder / f"{instance.id:016x}.cpp"
    unit.write_text(render_device_unit(asm_backward.host_unit(instance, {arch: ()})))
    return link(unit, prepare_symbol(instance.id), arch, folder, fmha_symbol(instance.id))


def call(name: str, shape: FmhaShape, args: dict[str, Any], workspace: np.ndarray[Any, Any]) -> Call:
    return prepare(library(name), shape, args, of=SplitOf(instance_of(name), 1, workspace))


def room(rows: int, columns: int) -> tuple[int, int, int]:
    """Where delta and lse begin behind the sums of dQ, and the end: 64 numbers are behind both."""
    delta = -(-rows * columns * 4 // 256) * 256
    lse = -(-(delta + rows * 4 + 256) // 256) * 256
    return delta, lse, lse + rows * 4 + 256


@pytest.mark.parametrize("name", [PADDED, OWN])
def test_calls_are_those_of_amds_host_code(name: str) -> None:
    """Symbol, grid and argument bytes of the production kind, which was written apart; sums, delta and lse are of the
    workspace."""
    kernel, kind = kernel_of(name), attention_backward.KIND
    stem = name.removesuffix("_own")
    made = attention_backward.Problem(33, 450, 2, 2, 2)
    launch = kind.prepare(KernelFile(kernel.archs[0], f"fmha_v3_bwd/{stem}"), made, np.random.default_rng(0))
    q, k, v, dout, lse, delta = launch.inputs
    dq, dk, dv = (one.actual for one in launch.outputs)
    shape = FmhaShape(2, 2, 2, 33, 450, kernel.hdim_q, kernel.hdim_v)
    tensors = {"q": q, "k": k, "v": v, "o": dout, "dout": dout, "dq": q, "dk": dk, "dv": dv}
    args: dict[str, Any] = {**tensors, "lse": lse, "scale": float(np.float32(kernel.hdim_q**-0.5))}
    for each, tensor in tensors.items():
        batch, row, head, _ = (stride // 2 for stride in tensor.strides)
        args[f"{each}_strides"] = (row, head, batch)
    args |= {"lse_head_stride": 33, "lse_batch_stride": 66}
    workspace = np.zeros(partial_bytes(library(name), shape, SplitOf(instance_of(name))), np.uint8)
    found = call(name, shape, args, workspace)
    assert (found.symbol, found.grid, found.block) == (kernel.symbol, launch.grid, (launch.block, 1, 1))
    slot, size = (16 if kernel.form is BackwardForm.OWN else 8), 8
    expected = bytearray(launch.arguments)
    begin = address(workspace)
    assert begin is not None
    at_delta, at_lse, end = room(2 * 2 * 33, kernel.hdim_q)
    for at, place in ((0, 0), (7, at_lse), (8, at_delta)):
        expected[at * slot : at * slot + size] = (begin + place).to_bytes(size, "little")
    assert found.args == bytes(expected)
    assert workspace.size == end and delta.size == 2 * 2 * 33 and dq.size


def test_a_call_for_sequences_one_after_the_other_is_that_of_amds_host_code() -> None:
    """Heads of the sums, of delta and of lse are all rows apart; no kernel reads the number of all keys."""
    kernel = kernel_of(GROUP)
    problem = FmhaProblem((33, 0, 5), (450, 3, 0), 2, 2, 64, 64, data=Data.RANDOM)
    shape, given, _, _ = backward_data(kernel.signatures[0], problem)
    at_delta, at_lse, end = room(2 * 38, 64)
    workspace = np.zeros(partial_bytes(library(GROUP), shape, SplitOf(instance_of(GROUP))), np.uint8)
    found = call(GROUP, shape, dict(given), workspace)
    assert (found.symbol, found.grid, found.block) == (kernel.symbol, (2, 2, 3), (256, 1, 1))
    tensors: dict[str, Any] = {name: given[name] for name in ("dk", "dv", "q", "k", "v", "dout")}
    for name in ("q", "k", "v", "dout", "dk", "dv"):
        row, head, _ = given[f"{name}_strides"]
        tensors |= {f"head_{name}": 2 * head, f"row_{name}": 2 * row}
    starts = {f"{padded}seqstart_{of}": given[f"seqstart_{of}"] for of in "qk" for padded in ("", "padded_")}
    factors = {"scale": given["scale"], "log2e": math.log2(math.e), "ratio": 1, "head_lse": 4 * 38, "size": 64}
    parts = {"dq": workspace, "delta": workspace[at_delta:], "lse": workspace[at_lse:]}
    assert found.args == GroupArguments(**tensors, **starts, **factors, **parts).pack(slot=8)
    assert workspace.size == end


@pytest.mark.parametrize(
    ("corner", "left", "right", "x", "y"),
    [
        (FmhaCorner.TOP_LEFT, 7, 3, 4, 8),
        (FmhaCorner.BOTTOM_RIGHT, 7, 3, 4 + 29, 8 - 29),
        (FmhaCorner.TOP_LEFT, -1, 0, 1, 77 + 1),
        (FmhaCorner.BOTTOM_RIGHT, 2, -1, 77 + 1 + 29, 3 - 29),
        (FmhaCorner.TOP_LEFT, 2**31 - 1, 2**31 - 1, 78, 78),
    ],
)
def test_a_window_is_said_by_its_distances_from_the_diagonal_of_the_first_row(
    corner: FmhaCorner, left: int, right: int, x: int, y: int
) -> None:
    """Behind the arguments of a kernel without windows; a side without a limit is as long as the longer axis."""
    problem = FmhaProblem((48, 48), (77, 77), 2, 2, 128, 128, corner, left, right, data=Data.RANDOM)
    shape, args, _, _ = backward_data(kernel_of(WINDOWS).signatures[0], problem)
    found = call(WINDOWS, shape, dict(args), np.zeros(1 << 18, np.uint8))
    assert (len(found.args), found.grid) == (288, (1, 2, 2))
    assert [int.from_bytes(found.args[at : at + 4], "little", signed=True) for at in (272, 280)] == [x, y]


@pytest.mark.cpp
@pytest.mark.parametrize(
    ("name", "cases", "findings"),
    [
        (PADDED, slice(2, 3), ()),
        (CUT, slice(0, 1), ()),
        (GROUP, slice(1, 3), ()),
        (f"{WINDOWS}_recompile", slice(0, 3), ()),
        pytest.param(OWN, slice(1, 2), ("uninitialised",), marks=pytest.mark.long),
    ],
)
def test_gradients_are_within_their_bounds(
    name: str, cases: slice, findings: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every stage of the plan, ours from a code object of their own. CUT is within its own bound alone; OWN moves a
    scalar register that it has not written (docs/upstream/asm_fmha_v3_bwd.md)."""
    instance, problems = instance_of(name), shipped_backward_cases(kernel_of(name))[cases]
    arch, where = instance.archs[0], runtime(tmp_path_factory.getbasetemp())
    stages = (asm_backward.DOT_DO_O, asm_backward.SHIPPED, asm_backward.CONVERT_DQ)
    symbols = [asm_backward.symbol(instance, one) for one in stages]
    for problem, found in zip(problems, dispatched(instance, arch, problems, where, context(), seed=1), strict=True):
        assert found.instance == instance.name and found.right and found.findings == findings, problem
        assert [launch["kernel"] for launch in found.launches] == symbols, problem


@pytest.mark.parametrize(("rows", "is_right"), [(96, True), (100, False)])
def test_windows_take_lse_of_what_lies_behind_rows_that_are_not_whole_steps(rows: int, is_right: bool) -> None:
    """So that the instance asks for whole ones (fmha.instance.q-tile): exp(200) is infinite, and times 0 it is NaN."""
    problem = FmhaProblem((rows,), (60,), 2, 2, 128, 128, window_left=20, data=Data.RANDOM)
    shape, args, inputs, outputs = backward_data(kernel_of(WINDOWS).signatures[0], problem)
    _, at_lse, end = room(2 * rows, 128)
    workspace = np.zeros(end // 4, np.float32)
    lse = workspace[at_lse // 4 :]
    lse[: 2 * rows], lse[2 * rows :] = args["lse"], -200.0
    emulator = Emulator(*pinned_chip("gfx942", None))
    module = emulator.load(production_wheel().read(KernelFile("gfx942", f"fmha_v3_bwd/{WINDOWS}")))
    for array in inputs:
        emulator.add(array, writable=False)
    for array in (workspace, *(one.actual for one in outputs)):
        emulator.add(array)
    found = call(WINDOWS, shape, dict(args), workspace.view(np.uint8))
    emulator.launch(module, module.kernels[0], found.grid, found.block, found.args, SIDE_BY_SIDE)
    _, dk, dv = outputs
    assert all(bool(np.isfinite(wide(one.actual)).all()) == is_right for one in (dk, dv))


@pytest.mark.cpp
@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, kernel in asm_fmha_kernels().items() if kernel.goes_back])
def test_all_problems_of_every_kernel_are_right_in_several_orders(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    instance, problems, where = (
        instance_of(name),
        shipped_backward_cases(kernel_of(name)),
        tmp_path_factory.getbasetemp(),
    )
    for seed in (0, 2):
        ran = dispatched(instance, instance.archs[0], problems, runtime(where), context(), seed=seed)
        assert [problem for problem, found in zip(problems, ran, strict=True) if not found.right] == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seqlen_k": np.zeros(2, np.int32)}, "lengths are given apart"),
        ({"scale": 0.0}, "a scale of 0 is not above 0"),
        ({"k": None}, "K is null"),
        ({"dout": 8}, "dO is not aligned to 16 bytes"),
        ({"o": None}, "o is null"),
        ({"lse": None}, "lse is null"),
        ({"dq": None}, "dq is null"),
        ({"dv_strides": (132, 64, 1 << 16)}, "a stride of dV of 132"),
        ({"v_strides": (1 << 28, 64, 1 << 16)}, "V takes more than the 4294967295 bytes"),
    ],
    ids=str,
)
def test_arguments_that_the_kernel_cannot_take(changes: dict[str, Any], said: str) -> None:
    problem = FmhaProblem((33, 33), (77, 77), 2, 2, 64, 64, data=Data.RANDOM)
    shape, args, _, _ = backward_data(kernel_of(PADDED).signatures[0], problem)
    workspace, plain = np.zeros(1 << 16, np.uint8), {**dict(args), "lse_head_stride": 33, "lse_batch_stride": 66}
    assert call(PADDED, shape, plain, workspace).symbol == kernel_of(PADDED).symbol
    with pytest.raises(UsageError, match=said):
        call(PADDED, shape, {**plain, **changes}, workspace)


def test_sizes_that_the_kernel_cannot_take() -> None:
    problem = FmhaProblem((33,), (77,), 1, 1, 64, 64, data=Data.RANDOM)
    shape, args, _, _ = backward_data(kernel_of(PADDED).signatures[0], problem)
    workspace, given = np.zeros(1 << 16, np.uint8), dict(args)

    def refused(said: str, **sizes: int) -> None:
        changed = FmhaShape(**{**{name: getattr(shape, name) for name in shape.__dataclass_fields__}, **sizes})
        with pytest.raises(UsageError, match=said):
            call(PADDED, changed, given, workspace)

    refused("no row of Q", seqlen_q=0)
    refused("the sums of dQ takes more than", seqlen_q=1 << 24)
    with pytest.raises(UsageError, match="does not split KV, 2 splits"):
        prepare(library(PADDED), shape, given, splits=2, of=SplitOf(instance_of(PADDED), 2, workspace))
