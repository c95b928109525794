"""What wrote a place last, and what its value was made of, on small kernels whose every instruction is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from step_support import arguments, emulator, kernel, launch

from ckgen_emulator.bindings import Options
from ckgen_emulator.cli.emulate_text import fmha_text
from ckgen_emulator.fmha.emulate import FmhaResult
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.host_unit import Call
from ckgen_emulator.production.model import FirstWrong, Output
from ckgen_emulator.unit_run import run_call

pytestmark = pytest.mark.amd

ARCH = "gfx942"


def origin_of(
    body: str, inputs: np.ndarray, lane: int, *, lds: int = 0, half: int = 0, **more: Any
) -> Mapping[str, Any]:
    """Of dword `lane` of the output (or its upper half) of a kernel with v1 = 4 * work item, s[4:5] in, s[6:7] out."""
    start = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32_e32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n"
    code = kernel(start + body, ARCH, lds=lds, vgprs=64)
    out = np.zeros(more.pop("block", 64), np.uint32)
    chip = emulator(ARCH)
    watch = (out.ctypes.data + 4 * lane + 2 * half, 2 if half else 4)
    for array in (inputs, out):
        chip.add(array)
    try:
        run = launch(code, ARCH, [1], len(out), arguments(inputs, out), Options(watch=watch, **more))
    finally:
        for array in (inputs, out):
            chip.remove(array)
    assert run.findings == () and run.origin is not None
    return run.origin


def names(origin: Mapping[str, Any]) -> list[str]:
    """The mnemonics of the steps."""
    return [step["instruction"].split()[0] for step in origin["steps"]]


def writer(origin: Mapping[str, Any], step: int, operand: str) -> Any:
    """The mnemonic of who wrote that operand of a step, or why nobody did."""
    (found,) = [one for one in origin["steps"][step]["operands"] if one["name"] == operand]
    return found["why"] if found["by"] is None else names(origin)[found["by"]]


INPUTS = np.arange(256, dtype=np.uint32)


def test_a_store_is_traced_to_the_instructions_behind_its_data() -> None:
    origin = origin_of(
        """global_load_dword v2, v1, s[4:5]
        s_waitcnt vmcnt(0)
        v_add_u32_e32 v3, 7, v2
        v_mul_u32_u24_e32 v4, v3, v2
        global_store_dword v1, v4, s[6:7]""",
        INPUTS, 5,
    )  # fmt: skip
    assert origin["writes"] == 1
    assert names(origin)[:2] == ["global_store_dword", "v_mul_u32_u24_e32"]
    assert [origin["steps"][0][key] for key in ("kernel", "group", "wave", "lane")] == ["k", [0, 0, 0], 0, 5]
    assert writer(origin, 0, "v4") == "v_mul_u32_u24_e32" and writer(origin, 0, "v1") == "v_lshlrev_b32_e32"
    product = names(origin).index("v_mul_u32_u24_e32")
    assert writer(origin, product, "v3") == "v_add_u32_e32" and writer(origin, product, "v2") == "global_load_dword"
    assert writer(origin, names(origin).index("global_load_dword"), "memory") == "host"


def test_only_lanes_that_were_on_count_as_writers() -> None:
    body = """v_mov_b32_e32 v4, 1
        s_mov_b64 s[8:9], exec
        s_mov_b64 exec, 0xff
        v_mov_b32_e32 v4, v1
        s_mov_b64 exec, s[8:9]
        global_store_dword v1, v4, s[6:7]"""
    assert origin_of(body, INPUTS, 7)["steps"][1]["instruction"] == "v_mov_b32_e32 v4, v1"
    assert origin_of(body, INPUTS, 8)["steps"][1]["instruction"] == "v_mov_b32_e32 v4, 1"


def test_lds_is_followed_to_the_wave_that_stored() -> None:
    origin = origin_of(
        """v_xor_b32_e32 v5, 0x11, v0
        ds_write_b32 v1, v5
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_xor_b32_e32 v6, 0x100, v1
        ds_read_b32 v7, v6
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v7, s[6:7]""",
        INPUTS, 3, lds=512, block=128,
    )  # fmt: skip
    store, read, write, xor = (
        names(origin).index("global_store_dword"),
        *map(names(origin).index, ("ds_read_b32", "ds_write_b32", "v_xor_b32_e32")),
    )
    assert store == 0 and writer(origin, 0, "v7") == "ds_read_b32" and writer(origin, read, "LDS") == "ds_write_b32"
    assert (origin["steps"][write]["wave"], origin["steps"][write]["lane"]) == (1, 3)
    assert writer(origin, write, "v5") == "v_xor_b32_e32" and origin["steps"][xor]["wave"] in (0, 1)


def test_the_half_of_a_dword_that_is_asked_for_decides() -> None:
    body = """v_add_u32_e32 v5, 1, v0
        v_add_u32_e32 v6, 2, v0
        v_mov_b32_e32 v8, 0
        s_nop 1
        ds_write_b16 v1, v5
        ds_write_b16 v1, v6 offset:2
        s_waitcnt lgkmcnt(0)
        ds_read_b32 v7, v1
        s_waitcnt lgkmcnt(0)
        global_store_short v1, v7, s[6:7]
        global_store_short_d16_hi v1, v7, s[6:7] offset:2"""
    low, high = (origin_of(body, INPUTS, 4, lds=256, half=half) for half in (0, 1))
    assert [one["instruction"] for one in high["steps"] if one["instruction"].startswith("ds_write")] == [
        "ds_write_b16 v1, v6 offset:2"
    ]
    assert "v_add_u32_e32 v6, 2, v0" in [one["instruction"] for one in high["steps"]]
    assert low["writes"] == 2 and high["writes"] == 1


def test_a_sum_of_a_matrix_instruction_is_followed_through_its_accumulator() -> None:
    origin = origin_of(
        """v_mov_b32_e32 v8, 0
        v_mov_b32_e32 v9, 0
        v_mov_b32_e32 v10, 0
        v_mov_b32_e32 v11, 0
        v_mov_b32_e32 v12, 0
        v_mov_b32_e32 v13, 0
        v_mov_b32_e32 v14, 0
        v_mov_b32_e32 v15, 0
        s_nop 7
        v_mfma_f32_16x16x16_f16 v[8:11], v[12:13], v[14:15], v[8:11]
        s_nop 7
        s_nop 7
        global_store_dword v1, v10, s[6:7]""",
        INPUTS, 9,
    )  # fmt: skip
    matrix = next(one for one in origin["steps"] if one["instruction"].startswith("v_mfma"))
    assert [one["name"] for one in matrix["operands"]] == ["v12", "v13", "v14", "v15", "v10"]
    assert [one["lane"] for one in matrix["operands"]] == [-1, -1, -1, -1, 9]


def test_what_nobody_stored_has_no_steps() -> None:
    origin = origin_of("s_nop 0", INPUTS, 0)
    assert origin == {"writes": 0, "steps": []}


def test_memory_is_followed_to_an_earlier_launch() -> None:
    start = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32_e32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n"
    copy = kernel(
        start + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]",
        ARCH,
        vgprs=64,
    )
    inputs, between, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    chip = emulator(ARCH)
    options = Options(watch=(out.ctypes.data + 8, 4))
    for array in (inputs, between, out):
        chip.add(array)
    try:
        first = launch(copy, ARCH, [1], 64, arguments(inputs, between), options).origin
        second = launch(copy, ARCH, [1], 64, arguments(between, out), options).origin
        unwatched = launch(copy, ARCH, [1], 64, arguments(between, out)).origin
        forgotten = launch(copy, ARCH, [1], 64, arguments(between, out), options).origin
    finally:
        for array in (inputs, between, out):
            chip.remove(array)
    assert first is not None and first["writes"] == 0 and unwatched is None
    assert second is not None and forgotten is not None
    assert [one["instruction"].split()[0] for one in second["steps"][:2]] == ["global_store_dword", "global_load_dword"]
    load = names(second).index("global_load_dword")
    assert writer(second, load, "memory") == "global_store_dword"
    assert second["steps"][second["steps"][load]["operands"][0]["by"]]["operands"] is None
    assert writer(forgotten, load, "memory") == "host"


def test_a_wrong_output_is_traced_in_a_second_run_and_told() -> None:
    body = """s_load_dwordx4 s[4:7], s[0:1], 0x0
        v_lshlrev_b32_e32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        global_load_dword v2, v1, s[4:5]
        s_waitcnt vmcnt(0)
        v_min_u32_e32 v3, 40, v2
        global_store_dword v1, v3, s[6:7]"""
    inputs, actual = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    output = Output("o", actual, inputs.reshape(8, 8).astype(np.float64), 0.0)
    call = Call("k", (1, 1, 1), (64, 1, 1), 0, arguments(inputs, actual), 0)
    what = ("fmha", ARCH, kernel(body, ARCH, vgprs=64), call, "a problem", (inputs,), (output,), Options())
    plain, outcome = run_call(*what), run_call(*what, trace_wrong=True)
    assert plain.origin is None and plain.compared[0].first == FirstWrong((5, 1), 41.0, 40.0)
    assert outcome.compared == plain.compared and outcome.instructions == plain.instructions
    assert outcome.to_json()["outputs"][0]["first"] == {"index": [5, 1], "expected": 41.0, "actual": 40.0}
    assert outcome.origin is not None and outcome.origin["steps"][0]["lane"] == 41
    right = Output("o", actual, np.minimum(inputs, 40).astype(np.float64), 0.0)
    assert run_call(*what[:6], (right,), Options(), trace_wrong=True).origin is None
    problem: Any = FmhaProblem(lengths_q=(1,), lengths_k=(1,))
    text = fmha_text(FmhaResult("name", ARCH, problem, outcome), stats=False)
    assert "WRONG: 23 elements, the first [5, 1]: 40, expected 41" in text
    assert "written 1 time, last in k by #0\n    #0  global_store_dword v1, v3, s[6:7]\n" in text
    assert (
        "v3: #1" in text and "v1: v_lshlrev_b32_e32 v1, 2, v0 at 0x" in text and "memory: as the host left it" in text
    )
