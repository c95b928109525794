"""What the core refuses with words, and what it takes for granted where nothing is said."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from elf_support import ENDS, Object, descriptor
from step_support import CHIPS, assemble, emulator, kernel, table

from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Emulator, Options, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"


@pytest.mark.parametrize("lacking", ["compute_units", "xcds", "lds_bytes"])
def test_a_chip_has_units(lacking: str) -> None:
    changed: Any = {lacking: 0}
    with pytest.raises(UsageError, match="a chip without units"):
        Emulator(replace(CHIPS[ARCH], **changed), table(ARCH))
    changed = {lacking: 1}
    Emulator(replace(CHIPS[ARCH], **changed), table(ARCH)).close()


@pytest.mark.parametrize(
    "line", ["SOP9 0 s_x", "SOP1 x s_x", "SOP1 0", "SOP1 0 s_x sdst:num:", "SOP1 0 s_x nothing:num:32"]
)
def test_a_table_has_opcodes(line: str) -> None:
    lines = table(ARCH).splitlines()
    with pytest.raises(UsageError, match=f"opcode table, line 5: {line}$"):
        Emulator(CHIPS[ARCH], "\n".join([*lines[:4], line, *lines[4:]]))
    Emulator(CHIPS[ARCH], "\n".join([*lines[:4], "", *lines[4:], ""])).close()


def test_a_kernel_is_found_by_its_whole_name() -> None:
    chip = emulator(ARCH)
    module = chip.load(kernel("", ARCH))
    for name in ("", "K", "kk", "k.kd"):
        with pytest.raises(UsageError, match=f"no kernel is called {name}$"):
            chip.launch(module, name, [1, 1, 1], [64, 1, 1], b"", Options())
    chip.unload(module)


def test_a_kernel_begins_where_its_descriptor_says() -> None:
    """Not where its section does; both checked and not, one after the other."""
    chip = emulator(ARCH)
    text = assemble("s_trap 1\ns_nop 0\ns_nop 0", ARCH) + ENDS
    made = Object().with_section("text", text).with_section("rodata", descriptor(entry=0x1008))
    module = chip.load(made.bytes())
    for checked in (True, False, True):
        result = chip.launch(module, "k", [3, 1, 1], [64, 1, 1], b"", Options(checked=checked))
        assert (result.instructions, result.findings) == (3 * 2, ())
        assert result.by_class["control"] == 6
    chip.unload(module)


def test_nothing_said_of_threads_and_findings_is_one_and_twenty() -> None:
    chip = emulator(ARCH)
    module = chip.load(kernel("s_nop 0", ARCH))
    result = chip.launch(module, "k", [5, 1, 1], [130, 1, 1], bytes(8), Options(threads=0, most_findings=0))
    assert (result.counts["groups"], result.counts["waves"], result.instructions) == (5, 15, 30)
    chip.unload(module)


def test_arguments_and_code_are_read_only() -> None:
    """And known only while the kernel runs."""
    chip = emulator(ARCH)
    for text in ("s_store_dword s4, s[0:1], 0", "s_getpc_b64 s[6:7]\ns_store_dword s4, s[6:7], 0"):
        module = chip.load(kernel(text, ARCH, kernarg=64))
        [finding] = chip.launch(module, "k", [1, 1, 1], [64, 1, 1], bytes(8), Options()).findings
        assert finding.rule == "out_of_bounds" and finding.what.startswith("written: 4 bytes at ")
        assert " in the allocation of " in finding.what
        address = int(finding.what.split(" at 0x")[1].split()[0], 16)
        chip.unload(module)
        state = Wave()
        state.set_pair(8, address)
        [gone] = chip.step(assemble("s_load_dword s20, s[8:9], 0", ARCH), state).findings
        assert " in the allocation of " not in gone.what


def test_texts_fit_their_room() -> None:
    """With the final zero; the room that is needed is told."""
    chip = emulator(ARCH)
    code = assemble("s_nop 3\ns_endpgm", ARCH)
    whole = b"0 4 s_nop 3\n4 4 s_endpgm\n"
    ask = chip._core.ckgen_emu_disassemble
    assert ask(chip._handle, code, len(code), None, 0) == len(whole) + 1
    assert ask(chip._handle, code, len(code), None, 5) == len(whole) + 1
    for room in (0, 1, 2, len(whole), len(whole) + 1, len(whole) + 9):
        text = ctypes.create_string_buffer(b"#" * 64, 64)
        assert ask(chip._handle, code, len(code), text, room) == len(whole) + 1
        expected = (whole[: room - 1] + b"\0") if room else b""
        assert text.raw == expected + b"#" * (64 - len(expected))


def test_counts_add_up_over_workgroups_and_threads() -> None:
    memory = np.zeros(1024, np.uint32)
    chip = emulator(ARCH)
    address = chip.add(memory)
    text = f"""
    v_lshlrev_b32 v1, 2, v0
    s_mov_b32 s8, {address & 0xFFFFFFFF:#x}
    s_mov_b32 s9, {address >> 32:#x}
    ds_write_b32 v1, v0
    ds_read_b32 v2, v1
    ds_read_b128 v[8:11], v1
    v_lshlrev_b32 v5, 7, v0
    v_and_b32 v5, 0x380, v5
    ds_read_b32 v6, v5
    global_load_dword v3, v1, s[8:9]
    global_atomic_add v1, v0, s[8:9] offset:1024
    s_waitcnt vmcnt(0) lgkmcnt(0)
    """
    module = chip.load(kernel(text, ARCH, lds=1024, vgprs=32))
    one = chip.launch(module, "k", [1, 1, 1], [64, 1, 1], b"", Options()).counts
    assert one["lds_read"] == 64 * 24 and one["global_read"] == 256 and one["atomics"] == 64
    assert one["lds_written"] == 256 and one["global_written"] == 4 * 63 and one["lds_conflict_cycles"] >= 14
    for threads in (1, 2, 3):
        many = chip.launch(module, "k", [7, 1, 1], [64, 1, 1], b"", Options(threads=threads)).counts
        assert many == {name: 7 * count for name, count in one.items()}
    chip.unload(module)
    chip.remove(memory)
