"""AMD's attention kernels by ckgen's own launchers: the calls that AMD's host code makes, results, what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from amd_support import production_wheel
from ckgen.build.cache import default_cache
from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.unit import prepare_symbol
from ckgen.families.fmha.asm_kernels import AsmFmhaKernel, asm_fmha_kernels
from ckgen.families.fmha.device import asm_fmha
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.registry import make_instance
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen_emulator.fmha.call import link, prepare
from ckgen_emulator.fmha.problem import FmhaProblem, fmha_data
from ckgen_emulator.fmha.run import FmhaKernel, run_fmha
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.production import attention_forward, paged_attention
from ckgen_emulator.production.run import SIDE_BY_SIDE
from ckgen_emulator.production.wheel import KernelFile, Wheel

pytestmark = pytest.mark.amd

BATCH, GROUP, GROUPS = "fwd_hd128_bf16_rtna", "fwd_hd128_bf16_causal_rtna_group", "fwd_hd128_bf16_group"
CAUSAL = "fwd_hd192_hd128_bf16_causal"
PAGED, PAGED16 = "pa_bf16_noquant_gqa8_1tg_4w", "pa_fp16_noquant_gqa16_1tg_4w"
PAGES = FmhaProblem((1, 1, 1), (37, 16, 300), 16, 2, 128, 128, page_size=16, finite_kv=True)
KNOWN = {"hazard", "lds_race", "before_wait"}
"""docs/upstream/asm_fmha_v3_fwd.md, docs/upstream/asm_pa.md"""


def instance_of(kernel: AsmFmhaKernel, *, lse: bool = True) -> FmhaInstance:
    """Of the kernels over pages, which write no lse, the second has a mask."""
    signature = kernel.signatures[lse]
    return make_instance(signature, kernel.config, kernel.archs)


def file_of(kernel: AsmFmhaKernel, arch: str) -> KernelFile:
    found = kernel.on(arch)
    assert found is not None
    return KernelFile(arch, found.path.removeprefix(f"aiter_meta/hsa/{arch}/").removesuffix(".co"))


@cache
def library(name: str, *, lse: bool = True) -> Path:
    """The host unit, which is C++ without HIP, as a library."""
    kernel = asm_fmha_kernels()[name]
    instance, folder = instance_of(kernel, lse=lse), default_cache() / "emulated" / "fmha"
    folder.mkdir(parents=True, exist_ok=True)
    unit = folder / f"{instance.id:016x}.cpp"
    unit.write_text(render_device_unit(asm_fmha.host_unit(instance, {kernel.archs[0]: ()})))
    return link(unit, prepare_symbol(instance.id), kernel.archs[0], folder)


def kernel_of(name: str, *, lse: bool = True) -> FmhaKernel:
    kernel = asm_fmha_kernels()[name]
    arch, instance = kernel.archs[0], instance_of(kernel, lse=lse)
    code = Wheel(production_wheel()).read(file_of(kernel, arch))
    return FmhaKernel(instance, arch, code, library(name, lse=lse))


def args_of(launch: Any, shape: FmhaShape, *, varlen: bool) -> dict[str, Any]:
    """A production launch's arrays by names of FmhaArgs, all as [batch, row, head, column]."""
    q, k, v, *starts = launch.inputs
    o, lse = (one.actual for one in launch.outputs)

    def strides(array: Any, length: int) -> tuple[int, int, int]:
        heads, columns = array.shape[1:]
        return heads * columns, columns, length * heads * columns

    found = {"q": q, "k": k, "v": v, "o": o, "lse": lse, "scale": float(np.float32(shape.hdim_q**-0.5))}
    found |= {f"{name}_strides": strides(found[name], shape.seqlen_q) for name in ("q", "o")}
    found |= {f"{name}_strides": strides(found[name], shape.seqlen_k) for name in ("k", "v")}
    found["lse_head_stride"] = lse.shape[-1]
    found["lse_batch_stride"] = 0 if varlen else lse.shape[-1] * shape.heads_q
    return found | (dict(zip(("seqstart_q", "seqstart_k"), starts, strict=True)) if varlen else {})


@pytest.mark.parametrize(("name", "key"), [(BATCH, "heads"), (GROUP, "several"), (CAUSAL, "heads")])
def test_calls_are_those_of_amds_host_code(name: str, key: str) -> None:
    """Symbol, grid and argument bytes of the production kind, which was written apart."""
    kernel, kind = asm_fmha_kernels()[name], attention_forward.KIND
    file = file_of(kernel, kernel.archs[0])
    made = kind.problems(file)[key]
    launch = kind.prepare(file, made, np.random.default_rng(0))
    varlen = kernel.signatures[0].traits.varlen
    shape = FmhaShape(
        len(made.q_lengths), made.heads, made.kv_heads, max(made.q_lengths), max(made.k_lengths), kernel.hdim_q, 128
    )
    found = prepare(library(name), shape, args_of(launch, shape, varlen=varlen))
    assert found.args == launch.arguments and found.symbol == kernel.symbol
    assert (found.grid, found.block) == (launch.grid, (launch.block, 1, 1)) and found.clear_bytes == 0


def test_the_call_over_pages_is_that_of_amds_host_code() -> None:
    """The scale is rounded once by theirs."""
    kernel, kind = asm_fmha_kernels()[PAGED], paged_attention.KIND
    file = file_of(kernel, "gfx942")
    launch = kind.prepare(file, kind.problems(file)["long"], np.random.default_rng(0))
    q, k, v, table, lengths, _ = launch.inputs
    shape = FmhaShape(2, 16, 2, 1, max(lengths), 128, 128, page_size=16, pages=len(k), min_seqlen_k=1, finite_kv=True)
    of_page = (128, 16 * 128, 2 * 16 * 128)
    args = {"q": q, "k": k, "v": v, "o": launch.outputs[0].actual, "block_table": table, "seqlen_k": lengths}
    args |= {f"{name}_strides": (0, 128, 16 * 128) for name in "qo"} | {f"{name}_strides": of_page for name in "kv"}
    args |= {"block_table_stride": table.shape[1], "scale": float(np.float32(128**-0.5))}
    found = prepare(library(PAGED), shape, args)
    assert (found.symbol, found.grid, found.block) == (kernel.symbol, launch.grid, (launch.block, 1, 1))
    at = 8 * 16
    assert found.args[:at] + found.args[at + 4 :] == launch.arguments[:at] + launch.arguments[at + 4 :]
    scales = [np.frombuffer(one[at : at + 4], np.float32)[0] for one in (found.args, launch.arguments)]
    assert scales[0] == pytest.approx(scales[1], rel=2**-22)


@pytest.mark.parametrize(
    ("name", "lse", "problem"),
    [
        (BATCH, True, FmhaProblem((300, 300), (77, 77), 4, 2, 128, 128)),
        (BATCH, True, FmhaProblem((1,), (513,), 4, 1, 128, 128, head_first=True)),
        (GROUP, True, FmhaProblem((5, 261, 0, 33), (66, 100, 7, 0), 2, 1, 128, 128)),
        (GROUP, True, FmhaProblem((40, 9), (300, 65), 8, 2, 128, 128, head_first=True, seed=3)),
        (GROUPS, False, FmhaProblem((70, 300, 0), (40, 65, 3), 2, 2, 128, 128)),
        (CAUSAL, True, FmhaProblem((200,), (90,), 2, 1, 192, 128)),
        (PAGED, False, PAGES),
        (PAGED, True, replace(PAGES, heads_q=3, heads_k=1, lengths_k=(513, 1, 256))),
        pytest.param(PAGED16, False, replace(PAGES, heads_q=24), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_o_and_lse_are_within_their_bounds(name: str, lse: bool, problem: FmhaProblem) -> None:
    """Shared heads, unequal and empty sequences, rows that see no key, fewer keys than rows, both layouts, pages."""
    outcome = run_fmha(kernel_of(name, lse=lse), problem, SIDE_BY_SIDE)
    assert outcome.right, outcome.compared
    assert {one.rule for one in outcome.findings} <= KNOWN


def test_a_sequence_without_keys_is_wrong_without_a_mask() -> None:
    """So that the instance asks for keys (fmha.instance.keys): it reads LDS that nobody wrote."""
    problem = FmhaProblem((70,), (0,), 1, 1, 128, 128, data=Data.RANDOM)
    outcome = run_fmha(kernel_of(GROUPS, lse=False), problem, SIDE_BY_SIDE)
    assert not outcome.right and "uninitialised" in {one.rule for one in outcome.findings}


@pytest.mark.parametrize("problem", [replace(PAGES, lengths_k=(37, 0, 300)), replace(PAGES, finite_kv=False)], ids=str)
def test_what_is_wrong_over_pages(problem: FmhaProblem) -> None:
    """So that the instance asks for keys, and for finite values (fmha.instance.finite) behind them."""
    assert not run_fmha(kernel_of(PAGED, lse=False), problem, SIDE_BY_SIDE).right


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scale": -1.0}, "a scale of -1 is not above 0"),
        ({"seqlen_k": None}, "block_table or seqlen_k is null"),
        ({"v": None}, "K or V is null"),
        ({"k": 8}, "K or V is not aligned"),
        ({"q_strides": (0, 256, 1 << 12)}, "heads of Q, and heads and rows of O, must have no gaps"),
        ({"o_strides": (0, 128, 1 << 12)}, "must have no gaps"),
        ({"q_strides": (0, 128, 2049)}, "a stride of Q of 2049"),
        ({"v_strides": (0, 2048, 8192)}, "V are not as far apart as those of K"),
        ({"block_table_stride": 1 << 30}, "beyond 32 bits"),
    ],
    ids=str,
)
def test_arguments_that_the_kernel_over_pages_cannot_take(changes: dict[str, Any], said: str) -> None:
    data = fmha_data(asm_fmha_kernels()[PAGED].signatures[0], PAGES)
    shape = replace(data.shape, seqlen_k=300)
    library_of = library(PAGED, lse=False)
    assert prepare(library_of, shape, data.args).grid == (2, 3, 1)
    with pytest.raises(UsageError, match=said):
        prepare(library_of, shape, {**data.args, **changes})
    with pytest.raises(UsageError, match="2 GiB of K and of V are reached"):
        prepare(library_of, replace(shape, pages=262145), data.args)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seqlen_k": np.zeros(2, np.int32)}, "lengths are given apart"),
        ({"scale": 0.0}, "a scale of 0 is not above 0"),
        ({"q": None}, "Q is null"),
        ({"k": 8}, "K is not aligned to 16 bytes"),
        ({"v_strides": (260, 128, 1 << 16)}, "a stride of V of 260"),
        ({"o_strides": (-256, 128, 1 << 16)}, "a stride of O of -256"),
        ({"k_strides": (1 << 28, 128, 1 << 16)}, "K takes more than the 4294967295 bytes"),
        ({"q_strides": (512, 128, 1 << 32)}, "Q takes more than"),
        ({"lse_batch_stride": 1300}, "lse of a batch is 1300 on"),
    ],
    ids=str,
)
def test_arguments_that_the_kernel_cannot_take(changes: dict[str, Any], said: str) -> None:
    kernel = asm_fmha_kernels()[BATCH]
    data = fmha_data(kernel.signatures[1], FmhaProblem((300, 300), (77, 77), 4, 2, 128, 128))
    assert prepare(library(BATCH), data.shape, data.args).symbol == kernel.symbol
    with pytest.raises(UsageError, match=said):
        prepare(library(BATCH), data.shape, {**data.args, **changes})


def test_sizes_and_splits_that_the_kernel_cannot_take() -> None:
    data = fmha_data(asm_fmha_kernels()[BATCH].signatures[1], FmhaProblem((300,), (77,), 4, 2, 128, 128))
    with pytest.raises(UsageError, match="does not split KV, 2 splits"):
        prepare(library(BATCH), data.shape, data.args, splits=2)
    with pytest.raises(UsageError, match="no row of Q"):
        prepare(library(BATCH), replace(data.shape, seqlen_q=0), data.args)
    with pytest.raises(UsageError, match="66000 workgroups along an axis"):
        few = {"q_strides": (512, 128, 0), "k_strides": (256, 128, 0), "v_strides": (256, 128, 0)}
        many = {**data.args, **few, "o_strides": (512, 128, 0), "lse_batch_stride": 4 * data.args["lse_head_stride"]}
        prepare(library(BATCH), replace(data.shape, batch=66000), many)
    starts = fmha_data(asm_fmha_kernels()[GROUP].signatures[1], FmhaProblem((30,), (77,), 4, 2, 128, 128))
    with pytest.raises(UsageError, match="seqstart_q or seqstart_k is null"):
        prepare(library(GROUP), starts.shape, {**starts.args, "seqstart_k": None})


def test_the_last_byte_that_32_bits_count() -> None:
    """Of K, with the rows of two tiles that the kernel may address behind the last one."""
    data = fmha_data(asm_fmha_kernels()[BATCH].signatures[1], FmhaProblem((300,), (77,), 1, 1, 128, 128))
    most = (2**32 - 1 - 256) // (77 + 2 * 256 - 1) // 16 * 8
    assert prepare(library(BATCH), data.shape, {**data.args, "k_strides": (most, 0, 0)}).block == (512, 1, 1)
    with pytest.raises(UsageError, match="K takes more than"):
        prepare(library(BATCH), data.shape, {**data.args, "k_strides": (most + 8, 0, 0)})


def test_heads_in_eights_and_long_sequences_choose_the_order() -> None:
    """Argument 15 of the masked kernel: heads side by side where they are whole eights and rows are not many."""
    kernel = asm_fmha_kernels()[GROUP]
    data = fmha_data(kernel.signatures[1], FmhaProblem((30,), (77,), 16, 2, 128, 128))

    def order(**changes: int) -> int:
        args = {**data.args, "q_strides": (8, 0, 0), "o_strides": (8, 0, 0)}
        return prepare(library(GROUP), replace(data.shape, **changes), args).args[15 * 16]  # type: ignore[arg-type]

    assert [order(), order(heads_q=12), order(seqlen_q=16385, total_q=16385)] == [5, 3, 3]
