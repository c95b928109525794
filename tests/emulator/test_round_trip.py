"""Machine code becomes text that LLVM's assembler turns into the same bytes: opcodes, modifiers, real kernels."""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from encode_support import SKIPPED, encode, opcodes
from step_support import assemble, emulator, table

from amd_kernels import compiled
from amd_support import amd_toolchain, production_wheel
from ckgen.build.inspect.code_object import read_code_object
from ckgen.build.inspect.elf import Source
from ckgen.build.inspect.formats import load_formats

pytestmark = pytest.mark.amd

ARCHS = ("gfx90a", "gfx942", "gfx950")
PRODUCTION = ("hsa/gfx942/i8gemm/", "hsa/gfx942/topksoftmax/", "hsa/gfx950/f4gemm/", "hsa/gfx950/bf16gemm/")

NO_SUCH_ENCODING = {"v_readfirstlane_b32_e64", "v_swap_b32_e64", "v_accvgpr_mov_b32_e64"}
"""Of AMD's table, but not of LLVM's."""

LINES = """s_mov_b32 s3, 0x12345678
s_mov_b32 s3, lit(0x7)
s_mov_b32 s3, -16
s_mov_b64 s[4:5], 1.0
s_mov_b64 vcc, exec
s_add_u32 m0, s2, src_scc
s_getreg_b32 s4, hwreg(HW_REG_MODE, 4, 2)
s_setreg_b32 hwreg(HW_REG_TRAPSTS), s4
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0xf
s_movk_i32 s4, -5
s_cmpk_lg_u32 s4, 65535
s_call_b64 s[10:11], -3
s_branch -2
s_cbranch_scc0 32767
s_waitcnt vmcnt(7) lgkmcnt(0)
s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)
s_waitcnt 0xffff
s_sendmsg sendmsg(MSG_INTERRUPT)
s_endpgm
s_endpgm 5
s_set_gpr_idx_on s4, gpr_idx(SRC0,DST)
s_load_dwordx2 s[4:5], s[2:3], 0x10 glc
s_load_dword s4, s[2:3], -0x10
s_buffer_load_dwordx4 s[4:7], s[8:11], s3
s_load_dword s4, s[2:3], s6 offset:0x8
s_memtime s[4:5]
v_mov_b32_e32 v3, 0x12345
v_add_f32_e32 v3, 0.15915494, v4
v_add_f64 v[2:3], 0.15915494309189532, -|v[4:5]|
v_add_f16_e32 v3, lit(0x3c00), v4
v_cndmask_b32_e32 v3, v4, v5, vcc
v_cndmask_b32_e64 v3, -v4, |v5|, s[6:7]
v_addc_co_u32_e32 v3, vcc, v4, v5, vcc
v_addc_co_u32_e64 v3, s[4:5], v4, v5, s[6:7]
v_fma_f32 v3, neg(1.0), |v4|, -|v5| clamp mul:4
v_mad_u16 v3, v4, v5, v6 op_sel:[1,0,1,1]
v_fma_f16 v3, v4, v5, v6 op_sel:[0,1,0,0] clamp
v_cmp_lt_f32_e64 s[4:5], |v3|, v4 clamp
v_cmp_lt_f32_e32 vcc, s3, v4
v_div_scale_f32 v3, vcc, v4, v5, v6
v_readlane_b32 s3, v4, m0
v_writelane_b32 v4, s3, 63
v_mov_b32_dpp v3, v4 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xa
v_mov_b32_dpp v3, v4 quad_perm:[3,3,3,3] row_mask:0xf bank_mask:0xf
v_add_f32_dpp v3, -v4, |v5| row_shr:3 row_mask:0x1 bank_mask:0xf bound_ctrl:0
v_mov_b32_dpp v3, v4 row_newbcast:7 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v3, v4 row_half_mirror row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v3, v4 wave_ror:1 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v3, v4 row_bcast:31 row_mask:0xc bank_mask:0xf
v_add_u32_sdwa v3, v4, sext(v5) dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3
v_add_f32_sdwa v3, -v4, s5 clamp dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD
v_cmp_eq_u32_sdwa s[4:5], v3, v4 src0_sel:BYTE_0 src1_sel:DWORD
v_pk_add_f16 v3, v4, v5 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0] neg_hi:[0,1] clamp
v_pk_fma_f32 v[2:3], v[4:5], s[6:7], v[8:9] op_sel_hi:[1,0,1]
v_fma_mix_f32 v3, -v4, |v5|, v6 op_sel:[0,1,0] op_sel_hi:[1,1,0]
v_dot2_f32_f16 v3, v4, v5, v6 neg_lo:[1,1,0]
v_accvgpr_read_b32 v3, a4
v_accvgpr_write_b32 a4, 1.0
v_accvgpr_mov_b32_e32 a4, a5
ds_read2st64_b64 v[4:7], v3 offset0:255 offset1:1
ds_write_b128 v3, a[4:7] offset:65520
ds_swizzle_b32 v3, v4 offset:32853
ds_append v3 offset:16
buffer_store_dwordx4 a[4:7], v[2:3], s[8:11], m0 idxen offen offset:4095
buffer_load_dword v3, s[8:11], 0 offen lds
buffer_load_dword off, s[8:11], s3 offset:16 lds
buffer_atomic_cmpswap v[4:5], off, s[8:11], 0
tbuffer_load_format_xyzw v[4:7], v3, s[8:11], 0 format:78 offen offset:8
flat_load_dwordx3 v[4:6], v[2:3] offset:4095
global_load_dword v3, v[4:5], off offset:-4096
global_store_short_d16_hi v3, v4, s[2:3] offset:4
global_atomic_add v3, v4, s[2:3]
scratch_load_dword v3, off, s4 offset:-16
scratch_store_dwordx2 v3, v[4:5], off
""".splitlines()

CACHE_BITS = {
    "gfx90a": [
        "global_atomic_add v2, v3, v4, s[2:3] glc",
        "buffer_load_dword v3, off, s[8:11], 0 glc slc scc",
        *(f"tbuffer_load_format_x v4, off, s[8:11], 0 format:78 {bit}" for bit in ("glc", "slc", "scc")),
    ],
    "gfx942": [
        "global_atomic_add v2, v3, v4, s[2:3] sc0 sc1",
        "buffer_load_dword v3, off, s[8:11], 0 sc0 nt sc1",
        *(f"tbuffer_load_format_x v4, off, s[8:11], 0 format:78 {bit}" for bit in ("sc0", "nt", "sc1")),
    ],
}

MATRIX = {
    "gfx90a": ["v_mfma_f32_32x32x8f16 v[0:15], v[16:17], a[18:19], 1.0 cbsz:1 abid:1 blgp:7"],
    "gfx942": [
        "v_mfma_f32_32x32x4_2b_f16 a[0:31], v[32:33], a[34:35], a[0:31] cbsz:1 abid:1 blgp:2",
        "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7] neg:[1,0,1]",
        "v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v12 cbsz:3 abid:1",
        "v_cvt_pk_f32_fp8_sdwa v[2:3], v4 src0_sel:WORD_1",
        "v_cvt_sr_fp8_f32 v3, v4, v5 op_sel:[0,0,1,1]",
        "v_mov_b64_dpp v[2:3], v[4:5] row_newbcast:1 row_mask:0xf bank_mask:0xf",
    ],
    "gfx950": [
        "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], a[8:15], v[0:3] cbsz:4",
        "v_mfma_scale_f32_32x32x64_f8f6f4 a[0:15], v[16:21], v[24:27], a[0:15], v30, v31 op_sel:[1,0,0] cbsz:2 blgp:4",
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[16:23], v[24:27], v[0:3], v30, v31 op_sel_hi:[0,1,0] blgp:4",
        "v_bitop3_b32 v3, v4, v5, s6 bitop3:0xd4",
        "v_bitop3_b16 v3, v4, v5, v6 bitop3:0x80 op_sel:[0,1,0,1]",
        "v_permlane32_swap_b32_e64 v3, v4 bound_ctrl:1 fi:1",
        "v_cvt_scalef32_pk_fp4_f16 v3, v4, v5 op_sel:[0,0,1,1]",
        "v_cvt_scalef32_pk_f32_fp4 v[2:3], v4, v5 op_sel:[1,1,0]",
        "v_cvt_scalef32_sr_pk32_fp6_f32 v[0:5], v[6:37], v38, v39",
        "buffer_load_dwordx4 v3, s[8:11], 0 offen offset:16 lds",
    ],
}


def tool() -> ModuleType:
    """tools/round_trip.py as a module."""
    name = "ckgen_round_trip"
    if name not in sys.modules:
        place = Path(__file__).parents[2] / "tools" / "round_trip.py"
        found = importlib.util.spec_from_file_location(name, place)
        assert found is not None and found.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(found)
        found.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.mark.parametrize("arch", ARCHS)
def test_every_opcode_of_the_table_comes_back(arch: str) -> None:
    texts = []
    for op in opcodes(table(arch)):
        if op.name in SKIPPED:
            continue
        code = encode(op, arch)
        [(address, size, text)] = emulator(arch).disassemble(code)
        assert (address, size) == (0, len(code)), text
        assert text.split()[0].removesuffix("_e32").removesuffix("_e64") == op.name
        texts.append((code, text))
    assert len(texts) > 1400
    wrong = list(tool().mismatches(texts, arch, amd_toolchain()))
    assert {each.text.split()[0] for each in wrong} == NO_SUCH_ENCODING, wrong


@pytest.mark.parametrize("arch", ARCHS)
def test_lines_of_the_assembler_are_written_as_they_were(arch: str) -> None:
    newer = "gfx942" if arch == "gfx950" else arch
    lines = [*LINES, *CACHE_BITS[newer], *MATRIX[arch]]
    code = assemble("\n".join(lines) + "\n", arch)
    found = [text for _, _, text in emulator(arch).disassemble(code)]
    assert found == lines


@pytest.mark.parametrize("arch", ARCHS)
def test_compiled_kernels_come_back(arch: str) -> None:
    assert_comes_back(compiled(arch).data, f"amd_kernels.hip for {arch}")


def test_production_code_objects_come_back() -> None:
    with zipfile.ZipFile(production_wheel()) as wheel:
        for folder in PRODUCTION:
            inside = [info for info in wheel.infolist() if folder in info.filename and info.filename.endswith(".co")]
            smallest = min(inside, key=lambda info: (info.file_size, info.filename))
            assert_comes_back(wheel.read(smallest), smallest.filename)


def test_a_wrong_text_is_a_mismatch() -> None:
    pairs = [
        (assemble("v_mov_b32_e32 v1, v2", "gfx942"), "v_mov_b32_e32 v1, v2"),
        (assemble("v_mov_b32_e32 v1, v2", "gfx942"), "v_mov_b32_e32 v1, v3"),
        (assemble("v_mov_b32_e32 v1, v2", "gfx942"), "v_mov_b32_e64 v1, v2"),
        (assemble("v_mov_b32_e32 v1, v2", "gfx942"), "v_mov_b32_e32 v1, v256"),
    ]
    found = tool().mismatches(pairs, "gfx942", amd_toolchain())
    assert {each.text for each in found} == {text for _, text in pairs[1:]}


def assert_comes_back(data: bytes, name: str) -> None:
    code = read_code_object(Source(name, data))
    decoder = amd_toolchain().decoder
    assert decoder is not None
    found = tool().Found()
    for kernel in code.kernels:
        tool().add(found, kernel.name, kernel.text, emulator(code.arch), load_formats(decoder, code.arch))
    assert found.kernels == len(code.kernels) and found.instructions >= len(found.texts) > 50
    assert found.wrong == []
    assert list(tool().mismatches(list(found.texts.items()), code.arch, amd_toolchain())) == []
