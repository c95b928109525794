"""A dozen mutants of machine code are caught, each by what it breaks; how mutants are made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hip_support import shim

from amd_support import amd_toolchain
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.mutate.catalogue import GEMMS
from ckgen_emulator.mutate.child import ChildFailure, in_child
from ckgen_emulator.mutate.code import Code, Instruction
from ckgen_emulator.mutate.operators import OPERATORS
from cpp_build import SYSTEM_LIBRARIES, dispatcher_archive

INT8 = "gemm_int8_bf16_rcr_rowwise_ck_256x64x64x128_32x32_1x1_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3"
BLOCK = (
    "gemm_fp8_ocp_bf16_rcr_blockscale_ck_1x128x128_"
    "256x64x64x128_16x16_32x32_1x1_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"
)
"""Of tests/build/inspect/recorded_set.json, which CI compiles anyway."""
REDUCTION = "reduction over workgroups"


@pytest.mark.parametrize("name", GEMMS)
def test_problems_whose_result_is_rounded_in_parts_have_data_of_which_one_result_is_right(name: str) -> None:
    for problem in (*GEMMS[name].problems, *GEMMS[name].rounded):
        assert problem.k_batch == 1 or problem.data is Data.SMALL_INTEGERS, problem


def code(*texts: str) -> Code:
    """Instructions of four bytes from address 0."""
    return Code(b"", 0, 0, tuple(Instruction(4 * place, 4, text) for place, text in enumerate(texts)))


@pytest.mark.parametrize(
    ("operator", "text", "changed"),
    [
        ("wait_dropped", "s_waitcnt vmcnt(2) lgkmcnt(0)", ["s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(2)"]),
        ("wait_dropped", "s_waitcnt vmcnt(2)", ["s_nop 0"]),
        ("wait_relaxed", "s_waitcnt vmcnt(2) lgkmcnt(15)", ["s_waitcnt vmcnt(3) lgkmcnt(15)"]),
        ("scope_narrowed", "buffer_wbl2 sc0 sc1", ["buffer_wbl2 sc0"]),
        ("lds_offset_shifted", "ds_read_b128 v[0:3], v9", ["ds_read_b128 v[0:3], v9 offset:16"]),
        ("lds_offset_shifted", "ds_write2_b32 v0, v1, v2 offset1:32", ["ds_write2_b32 v0, v1, v2 offset1:31"]),
        (
            "memory_offset_shifted",
            "buffer_load_ushort v1, v2, s[0:3], 0 offen offset:128 nt",
            [f"buffer_load_ushort v1, v2, s[0:3], 0 offen offset:{offset} nt" for offset in (130, 126)],
        ),
        ("memory_offset_shifted", "global_load_dword v1, v2, s0 sc1", ["global_load_dword v1, v2, s0 offset:4 sc1"]),
        ("matrix_operands_swapped", "v_mfma_x v0, v[4:5], v[6:7], 0 cbsz:4", ["v_mfma_x v0, v[6:7], v[4:5], 0 cbsz:4"]),
        ("accumulator_changed", "v_mfma_x v[0:3], v[4:5], v[6:7], v[0:3]", ["v_mfma_x v[0:3], v[4:5], v[6:7], 0"]),
        ("comparison_changed", "s_cmp_gt_i32 s4, s1", ["s_cmp_ge_i32 s4, s1", "s_cmp_le_i32 s4, s1"]),
        ("comparison_changed", "v_cmp_eq_u32_e32 vcc, s4, v1", ["v_cmp_ne_u32_e32 vcc, s4, v1"]),
        ("constant_changed", "s_and_b32 s1, s2, 0xfc", ["s_and_b32 s1, s2, 63"]),
        ("constant_changed", "v_add_u32_e32 v1, 0x100, v65", ["v_add_u32_e32 v1, 512, v65"]),
        ("constant_changed", "v_add_u32_e32 v1, s2, v65", []),
        ("shift_changed", "v_lshlrev_b32_e32 v1, 4, v2", ["v_lshlrev_b32_e32 v1, 5, v2"]),
        ("exec_changed", "s_and_saveexec_b64 s0, vcc", ["s_or_saveexec_b64 s0, vcc", "s_andn2_saveexec_b64 s0, vcc"]),
        ("m0_shifted", "s_mov_b32 m0, s3", ["s_add_u32 m0, s3, 4"]),
    ],
)  # fmt: skip
def test_an_operator_changes_one_thing(operator: str, text: str, changed: list[str]) -> None:
    found = [line for change in OPERATORS[operator](code(text), 0) for line in change.lines]
    assert found == changed


def test_wait_states_are_dropped_where_they_are_asked_for() -> None:
    matrix, single = "v_mfma_x v[0:3], v[4:5], v[6:7], 0", "v_readfirstlane_b32 s0, v1"

    def dropped(*texts: str) -> list[tuple[tuple[str, ...], int]]:
        operator = OPERATORS["wait_state_dropped"]
        return [(change.lines, change.before) for change in operator(code(*texts), len(texts) - 2)]

    assert dropped(matrix, "s_nop 7", "v_add_f32_e32 v9, v8, v2") == [(("s_nop 0",), 0)]
    assert dropped(matrix, "s_nop 7", "buffer_load_dword v2, v9, s[0:3], 0 offen") == []
    assert dropped(matrix, "s_nop 7", "v_add_f32_e32 v9, v8, v4") == []
    assert dropped("v_mov_b32_e32 v1, v2", "s_nop 0", single) == [(("s_nop 0", "v_mov_b32_e32 v1, v2"), 1)]
    assert dropped("v_mov_b32_e32 v1, v2", "s_mov_b32 s4, 0", "s_nop 0", single) == []


@pytest.mark.parametrize(
    ("work", "failure"),
    [
        (lambda: os._exit(1), "crashed"),
        (lambda: time.sleep(30), "no answer after 0.2 s"),
        (lambda: int("x"), "ValueError: invalid literal"),
    ],
)
def test_a_child_that_fails_is_told_from_one_that_answers(work: Callable[[], Any], failure: str) -> None:
    assert in_child(lambda: [1, None], 30) == [1, None]
    with pytest.raises(ChildFailure, match=failure):
        in_child(work, 0.2 if "no answer" in failure else 30)


EXPECTED = {
    INT8: {
        "wait_dropped": {"before_wait", "lds_race"}, "barrier_dropped": {"lds_race"}, "store_dropped": {"result"},
        "lds_offset_shifted": {"result"}, "matrix_operands_swapped": {"result"}, "wait_state_dropped": {"hazard"},
    },
    BLOCK: {
        "wait_relaxed": {"before_wait", "lds_race"}, "load_dropped": {"before_wait", "uninitialised", "result"},
        "memory_offset_shifted": {"result"}, "accumulator_changed": {"result"}, "lds_write_dropped": {"result"},
    },
    REDUCTION: {
        "release_dropped": {"global_race"}, "acquire_dropped": {"global_race"}, "scope_narrowed": {"global_race"},
        "m0_shifted": {"uninitialised"},
    },
}  # fmt: skip
"""Any of which catches a mutant of that operator."""


@pytest.fixture(scope="module")
def dispatcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dispatcher of the tests' own build as a shared library."""
    library = tmp_path_factory.mktemp("mutations") / "libdispatcher.so"
    archive = dispatcher_archive()
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run(["g++", "-shared", "-o", str(library), *whole], check=True)
    return library


def worked(request: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """What mutation_worker.py says of each mutant."""
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    worker = Path(__file__).with_name("mutation_worker.py")
    command = [sys.executable, str(worker), str(folder / "request.json")]
    path = os.pathsep.join(str(Path(__file__).parents[2] / room) for room in ("codegen", "emulator", "tests"))
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "arch"), [(INT8, "gfx942"), (BLOCK, "gfx950"), ("reduction over workgroups", "gfx942")]
)
def test_mutants_are_caught(kernel: str, arch: str, dispatcher: Path, tmp_path: Path) -> None:
    amd_toolchain()
    expected = EXPECTED[kernel]
    request = {
        "kernel": kernel, "arch": arch, "operators": list(expected), "dispatcher": str(dispatcher), "hip": str(shim()),
    }  # fmt: skip
    verdicts = worked(request, tmp_path)
    assert {one["operator"] for one in verdicts} == expected.keys()
    for one in verdicts:
        assert one["caught"], one
        assert expected[one["operator"]] & set(one["caught"]["by"]), one


TRACED = ("matrix_operands_swapped", "accumulator_changed", "conversion_changed")
"""Operators that change what is stored, and not where."""


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "arch"), [(INT8, "gfx942"), (BLOCK, "gfx950")])
def test_a_wrong_element_is_traced_to_the_mutant(kernel: str, arch: str, dispatcher: Path, tmp_path: Path) -> None:
    amd_toolchain()
    request = {
        "kernel": kernel, "arch": arch, "operators": list(TRACED), "trace": True, "dispatcher": str(dispatcher),
        "hip": str(shim()),
    }  # fmt: skip
    wrong = [one for one in worked(request, tmp_path) if one["origin"] is not None]
    assert len(wrong) >= 2
    for one in wrong:
        origin = one["origin"]
        assert origin["writes"] >= 1 and "_store_" in origin["steps"][0]["instruction"]
        assert one["address"] in [step["address"] for step in origin["steps"]], (one["operator"], one["after"], origin)
