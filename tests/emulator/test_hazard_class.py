"""What the wait state rules take each opcode for, asked of every opcode by an instruction that follows at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from encode_support import SKIPPED, Opcode, encode, opcodes
from step_support import assemble, emulator, table

from ckgen_emulator.bindings import Wave

pytestmark = pytest.mark.amd

ALL = ("gfx90a", "gfx942", "gfx950")
VECTOR = ("VOP1", "VOP2", "VOP3", "VOP3SD", "VOPC", "VOP3P")

TRANS = {
    *(f"v_{name}_f32" for name in ("exp", "log", "rcp", "rcp_iflag", "rsq", "sqrt", "sin", "cos")),
    *(f"v_{name}_f16" for name in ("exp", "log", "rcp", "rsq", "sqrt", "sin", "cos")),
    "v_rcp_f64", "v_rsq_f64", "v_sqrt_f64", "v_exp_legacy_f32", "v_log_legacy_f32",
}  # fmt: skip
"""CDNA3 ISA, table "Trans Ops"."""

PASSES = (
    ("gfx942", r"_f64_16x16", 8), ("gfx942", r"_f64_4x4", 4), ("gfx942", r"_4x4x", 2),
    ("gfx942", r"f32_16x16x(1_4b|4)_f32|16x16x4_(4b|2b)_|16x16x1_4b", 8), ("gfx942", r"16x16x(8|16|32|64)_", 4),
    ("gfx942", r"32x32x(1_2b|2)_f32|32x32x4_2b", 16), ("gfx942", r"32x32x(4_xf32|8|16|32)", 8),
    ("gfx950", r"_f64_16x16", 16), ("gfx950", r"_f64_4x4", 4), ("gfx950", r"_4x4x", 2),
    ("gfx950", r"32x32x64_f8f6f4", 16), ("gfx950", r"16x16x128_f8f6f4", 4),
    ("gfx950", r"f32_16x16x(1_4b|4)_f32|16x16x4_(4b|2b)_|16x16x1_4b", 8), ("gfx950", r"16x16x(8|16|32|64)_", 4),
    ("gfx950", r"32x32x(1_2b|2)_f32|32x32x4_2b", 16), ("gfx950", r"32x32x(8|16|32)", 8),
    ("gfx90a", r"_f64_16x16", 8), ("gfx90a", r"_f64_4x4", 4), ("gfx90a", r"_4x4x", 2), ("gfx90a", r"_16x16x", 8),
    ("gfx90a", r"_32x32x", 16),
)  # fmt: skip
"""By arch, the first that is found in the name; fp8 and bf8 of f8f6f4 (CDNA3 ISA 7.5, CDNA4 ISA 7.6)."""


def of(arch: str, forms: tuple[str, ...]) -> Iterator[Opcode]:
    """Opcodes of these formats that are executed."""
    executed = emulator(arch).opcodes()
    for op in opcodes(table(arch)):
        if op.form in forms and op.name not in SKIPPED and executed[op.name]:
            yield op


@cache
def probe(arch: str, line: str) -> bytes:
    return assemble(line, arch)


def hazard(arch: str, code: bytes) -> list[str]:
    """What is said of the last instruction."""
    found = emulator(arch).step(code, Wave(lds_bytes=1024)).findings
    return [one.what.partition(" found since")[0] for one in found if one.rule == "hazard"]


@pytest.mark.parametrize("arch", ALL)
def test_results_of_vector_instructions(arch: str) -> None:
    """Read at once: of transcendentals, dot products and what leaves a part of its register."""
    asked = 0
    for op in of(arch, VECTOR):
        if not op["vdst"] or op.name == "v_readlane_b32" or op.name == "v_readfirstlane_b32":
            continue
        expected = []
        if op.name in TRANS and arch != "gfx90a":
            expected = ["a transcendental's result is read: 1 wait states needed, 0"]
        elif op.name.startswith("v_dot"):
            expected = ["a dot product's result is used: 3 wait states needed, 0"]
        elif "sr_pk_fp4" in op.name and arch != "gfx90a":
            expected = ["a result that is shifted into a part of its register is used: 1 wait states needed, 0"]
        target = "a2" if op.name in ("v_accvgpr_write_b32", "v_accvgpr_mov_b32") else "v2"
        read = "v_accvgpr_read_b32 v100, a2" if target == "a2" else "v_not_b32_e32 v100, v2"
        assert hazard(arch, encode(op, arch) + probe(arch, read)) == expected, op.name
        asked += 1
    assert asked > 350


@pytest.mark.parametrize("arch", ALL)
def test_what_writes_exec(arch: str) -> None:
    """Read by DPP at once, or behind four others."""
    line = "v_mov_b32_dpp v100, v101 row_mirror row_mask:0xf bank_mask:0xf"
    said = "a vector instruction writes EXEC before DPP: 5 wait states needed, {}"
    compares = 0
    for op in of(arch, VECTOR):
        for states in (0, 4, 5):
            between = probe(arch, f"s_nop {states - 1}") if states else b""
            found = hazard(arch, encode(op, arch) + between + probe(arch, line))
            writes = op.name.startswith("v_cmpx")
            assert found == ([said.format(states)] if writes and states < 5 else []), op.name
            compares += writes
    assert compares > 3 * 100


@pytest.mark.parametrize("arch", ALL)
def test_passes_of_every_product(arch: str) -> None:
    """Told by how long its result may not be overwritten."""
    asked = 0
    for op in of(arch, ("VOP3P_MFMA", "VOP3PX2")):
        passes = next(passes for chip, part, passes in PASSES if chip == arch and re.search(part, op.name))
        double = "_f64_" in op.name or (arch == "gfx90a" and op.name.endswith("f64"))
        slow = arch != "gfx90a" and op.name.endswith("_f32") and not double
        if double:
            states = 6 if passes == 4 else 11
        elif slow:
            states = passes + 2
        else:
            states = min(19, passes + 3 + (arch == "gfx950" and passes != 2))
        target = "v32"
        [said] = hazard(arch, encode(op, arch) + probe(arch, f"v_mov_b32_e32 {target}, v200"))
        assert said == f"an MFMA's result is overwritten: {states} wait states needed, 0", op.name
        asked += 1
    assert asked > 20


@pytest.mark.parametrize("arch", ALL)
def test_scalars_of_memory_instructions(arch: str) -> None:
    """A buffer that a vector instruction wrote; other instructions read no scalars here."""
    write = probe(arch, "v_readfirstlane_b32 s9, v0")
    asked = 0
    for op in of(arch, ("MUBUF", "MTBUF", "DS", "FLAT", "GLOBAL", "SCRATCH")):
        expected = []
        if op["srsrc"]:
            expected = ["a vector instruction writes an SGPR, vector memory reads it: 5 wait states needed, 0"]
            asked += 1
        assert hazard(arch, write + encode(op, arch)) == expected, op.name
    assert asked > 50


@pytest.mark.parametrize("arch", ALL)
def test_m0_of_every_instruction(arch: str) -> None:
    """What reads it right behind the scalar unit's write; loads of buffers to LDS are guarded."""
    write = probe(arch, "s_mov_b32 m0, 0")
    said = ["the scalar unit writes M0 just before it is used: 1 wait states needed, 0 found"]
    asked = 0
    for op in of(arch, ("MUBUF", "DS", "FLAT", "GLOBAL", "SCRATCH", *VECTOR)):
        reads = "addtid" in op.name or "_load_lds_" in op.name
        assert hazard(arch, write + encode(op, arch)) == (said if reads else []), op.name
        asked += reads
    assert asked > 1


@pytest.mark.parametrize("arch", ALL)
def test_data_of_every_store(arch: str) -> None:
    """More than two dwords are read late, of stores and of atomics alike."""
    overwrite = probe(arch, "v_mov_b32_e32 v4, 0")
    needed = 1 if arch == "gfx90a" else 2
    asked = 0
    for op in of(arch, ("MUBUF", "FLAT", "GLOBAL", "SCRATCH", "DS")):
        bits = op.fields.get("data", 0) if op.form != "MUBUF" else op.fields.get("vdata", 0)
        moves = "_store" in op.name or "_atomic" in op.name
        late = op.form != "DS" and moves and bits > 64
        said = [f"data of a store is overwritten: {needed} wait states needed, 0"] if late else []
        assert hazard(arch, encode(op, arch) + overwrite) == said, op.name
        asked += late
    assert asked > 6
