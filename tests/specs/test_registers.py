"""Registers, waves and machine numbers of every AMD arch, as LLVM has them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from amd_support import amd_toolchain
from ckgen.build.inspect.elf import Source, read_elf
from ckgen.model.arch import Vendor
from ckgen.model.dtype import Fp8Flavour
from ckgen.specs import load_archs

GPUS = {name: arch for name, arch in load_archs().items() if arch.vendor is Vendor.AMD}

# LLVM 22.1.8, AMDGPUBaseInfo.cpp: getTotalNumVGPRs, getAddressableNumVGPRs, the AGPRs of a file of their own,
# getVGPRAllocGranule, getMaxWavesPerEU; ELF.h: EF_AMDGPU_MACH_AMDGCN_*
FACTS = {
    "gfx908": (256, 256, 256, 4, 10, 0x30),
    "gfx90a": (512, 512, 0, 8, 8, 0x3F),
    "gfx942": (512, 512, 0, 8, 8, 0x4C),
    "gfx950": (512, 512, 0, 8, 8, 0x4F),
    "gfx1100": (1536, 256, 0, 24, 16, 0x41),
    "gfx1200": (1536, 256, 0, 24, 16, 0x48),
    "gfx1201": (1536, 256, 0, 24, 16, 0x4E),
    "gfx1250": (1024, 1024, 0, 16, 16, 0x49),
}


def test_registers_and_waves_are_those_of_llvm() -> None:
    assert {
        name: (
            arch.vgprs_per_simd_lane, arch.vgprs_per_wave, arch.agprs_per_wave,
            arch.vgpr_granule, arch.waves_per_simd, arch.elf_machine,
        )
        for name, arch in GPUS.items()
    } == FACTS  # fmt: skip


def test_accumulators_of_a_file_of_their_own_are_registers_of_the_wave_too() -> None:
    assert [GPUS[name].registers_per_wave for name in ("gfx908", "gfx90a", "gfx1100")] == [512, 512, 256]


def test_a_wave_is_given_whole_granules() -> None:
    assert [GPUS["gfx942"].waves_with(vgprs) for vgprs in (64, 65, 256, 257)] == [8, 7, 2, 1]
    assert [GPUS["gfx1100"].waves_with(vgprs) for vgprs in (96, 97, 256)] == [16, 12, 5]


@pytest.mark.amd
@pytest.mark.parametrize("name", GPUS)
def test_code_of_the_processor_has_its_machine_number(name: str, tmp_path: Path) -> None:
    source, code = tmp_path / "k.s", tmp_path / "k.o"
    source.write_text("s_endpgm\n", encoding="utf-8")
    subprocess.run([*amd_toolchain().assemble(GPUS[name].processor), "-o", str(code), str(source)], check=True)
    assert read_elf(Source("k.o", code.read_bytes())).flags & 0xFF == GPUS[name].elf_machine


@pytest.mark.amd
@pytest.mark.parametrize("name", GPUS)
def test_instructions_that_code_is_chosen_by_are_those_that_the_compiler_knows(name: str, tmp_path: Path) -> None:
    arch = GPUS[name]

    def assembles(line: str) -> bool:
        (tmp_path / "k.s").write_text(line + "\n", encoding="utf-8")
        command = [*amd_toolchain().assemble(arch.processor), "-o", str(tmp_path / "k.o"), str(tmp_path / "k.s")]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    copies = (
        (4, "buffer_load_dword off, s[8:11], s3 lds"),
        (16, "global_load_lds_dwordx4 v[0:1], off"),
        (16, "global_load_async_to_lds_b128 v1, v[2:3], off"),
    )
    assert max((width for width, line in copies if assembles(line)), default=0) == arch.lds_copy_bytes
    assert assembles("ds_read_b64_tr_b16 v[0:1], v2") == arch.transposing_lds_reads
    assert assembles("global_load_dword v0, v[2:3], off sc0 sc1") == arch.cache_scopes


def test_mfma_archs_are_fnuz_unless_they_have_scaled_products() -> None:
    """As CKGEN_HAS_FNUZ of dispatcher_cpp/backends/hip/instructions.hpp has it."""
    flavours = {
        arch.instruction("v_mfma_scale_f32_16x16x128_f8f6f4") is None: arch.fp8_flavour
        for arch in GPUS.values()
        if arch.instruction("v_mfma_f32_16x16x32_fp8_fp8") is not None
    }
    assert flavours == {True: Fp8Flavour.FNUZ, False: Fp8Flavour.OCP}
