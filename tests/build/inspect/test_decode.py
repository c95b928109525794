"""Decoded counts are those of the compiler's assembly and of tinygrad's own decoder; speed is bounded."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amd_kernels import ARCHS, compiled
from amd_support import amd_toolchain, production_wheel
from ckgen.build.inspect.code_object import CodeObject, read_code_object
from ckgen.build.inspect.decode import count_instructions, is_matrix_op
from ckgen.build.inspect.elf import Source
from ckgen.build.inspect.formats import Formats, is_decoded, load_formats
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_arch, load_archs
from examples import examples

pytestmark = pytest.mark.amd

PRODUCTION = ("hsa/gfx942/i8gemm/", "hsa/gfx942/topksoftmax/", "hsa/gfx950/f4gemm/", "hsa/gfx950/bf16gemm/")

_ORACLE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tinygrad.renderer.amd import decode_inst
data, at, found = sys.stdin.buffer.read(), 0, {}
while at < len(data):
    real = data[at + 2:at + 4] == bytes([0xac, 0xd3])
    # A plain f8f6f4 product after any eight bytes looks like a scaled one: those eight bytes are seen alone.
    one = decode_inst(data[at:at + (16 if real else 12)], "cdna")
    if not real and one.size() > 12:
        one = decode_inst(data[at:at + 8], "cdna")
    name = one.op.name.lower()
    found[name] = found.get(name, 0) + 1
    at += one.size()
print(json.dumps(found))
"""

DECODED = sorted(name for name in load_archs() if is_decoded(name))


def formats(arch: str) -> Formats:
    decoder = amd_toolchain().decoder
    assert decoder is not None
    return load_formats(decoder, arch)


def without_alignment(counts: Counter[str]) -> Counter[str]:
    """Without s_nop: the assembler aligns loops with more of them than the text shows."""
    return Counter({name: count for name, count in counts.items() if name != "s_nop"})


@pytest.mark.parametrize("arch", ARCHS)
def test_counts_are_those_of_the_assembly(arch: str) -> None:
    made = compiled(arch)
    wanted = made.opcodes()
    kernels = made.code().kernels
    assert {kernel.name for kernel in kernels} == wanted.keys()
    for kernel in kernels:
        found = count_instructions(kernel.text, formats(arch))
        assert found.undecoded is None, kernel.name
        counts = Counter(found.counts)
        assert without_alignment(counts) == without_alignment(wanted[kernel.name]), kernel.name
        assert counts["s_nop"] >= wanted[kernel.name]["s_nop"]


@pytest.mark.parametrize("arch", ARCHS)
def test_every_matrix_instruction_of_the_test_kernels_is_in_the_arch_spec(arch: str) -> None:
    known = {row.mnemonic for row in load_arch(arch).matrix_instructions}
    found = [count_instructions(kernel.text, formats(arch)).matrix_ops for kernel in compiled(arch).code().kernels]
    named = {name for ops in found for name in ops}
    assert len(named) >= 3
    assert named <= known


def test_a_scaled_mfma_is_one_instruction_and_a_plain_one_is_not_scaled() -> None:
    counts = compiled("gfx950").opcodes()["scaled"]
    assert counts["v_mfma_scale_f32_16x16x128_f8f6f4"] == counts["v_mfma_f32_16x16x128_f8f6f4"] == 1
    kernel = next(kernel for kernel in compiled("gfx950").code().kernels if kernel.name == "scaled")
    found = count_instructions(kernel.text, formats("gfx950")).matrix_ops
    assert found["v_mfma_scale_f32_16x16x128_f8f6f4"] == found["v_mfma_f32_16x16x128_f8f6f4"] == 1
    assert found["v_mfma_scale_f32_32x32x64_f8f6f4"] == found["v_mfma_f32_32x32x64_f8f6f4"] == 1


def production(limit: int) -> list[CodeObject]:
    """Hand-written code objects of the CK wheel: some of each of several sorts, always the same."""
    with zipfile.ZipFile(production_wheel()) as wheel:
        names = sorted(name for name in wheel.namelist() if name.endswith(".co"))
        groups = [[name for name in names if part in name] for part in PRODUCTION]
        chosen = [name for group in groups for name in random.Random(1).sample(group, min(limit, len(group)))]
        return [read_code_object(Source(name, wheel.read(name))) for name in chosen]


def test_production_code_objects_decode_as_tinygrad_decodes_them() -> None:
    decoder = amd_toolchain().decoder
    codes = production(1)
    assert len(codes) >= 3
    for code in codes:
        for kernel in code.kernels:
            text = kernel.text
            command = [sys.executable, "-c", _ORACLE, str(decoder)]
            done = subprocess.run(command, input=text, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr.decode()
            wanted = Counter[str]()
            for name, count in json.loads(done.stdout).items():
                wanted[renamed(name)] += count
            found = count_instructions(text, formats(code.arch))
            assert found.undecoded is None
            assert Counter(found.counts) == wanted, code.source.name


def renamed(name: str) -> str:
    """tinygrad's name as LLVM spells it."""
    plain = name.removesuffix("_e32").removesuffix("_e64")
    return {"v_accvgpr_read": "v_accvgpr_read_b32", "v_accvgpr_write": "v_accvgpr_write_b32"}.get(plain, plain)


def test_forty_kilobytes_decode_in_half_a_second() -> None:
    code = max(production(4), key=lambda code: len(code.kernels[0].text))
    text = code.kernels[0].text
    known = formats(code.arch)
    started = time.perf_counter()
    found = count_instructions(text, known)
    seconds = time.perf_counter() - started
    assert sum(found.counts.values()) > 1000
    assert seconds * 40_000 / len(text) < 0.5


@settings(max_examples=examples(300))
@given(st.binary(max_size=256), st.sampled_from(DECODED))
def test_any_bytes_decode_to_an_end_or_a_place(data: bytes, arch: str) -> None:
    found = count_instructions(data, formats(arch))
    assert found.undecoded is None or 0 <= found.undecoded <= len(data)
    done = len(data) if found.undecoded is None else found.undecoded
    again = count_instructions(data[:done], formats(arch))
    assert again.undecoded is None and again.counts == found.counts


@pytest.mark.parametrize("arch", ARCHS)
def test_a_text_cut_inside_an_instruction_names_where_that_begins(arch: str) -> None:
    kernel = max(compiled(arch).code().kernels, key=lambda kernel: len(kernel.text))
    known = formats(arch)
    starts = {0}
    for end in range(4, 400, 4):
        found = count_instructions(kernel.text[:end], known)
        if found.undecoded is None:
            starts.add(end)
        else:
            assert found.undecoded in starts
    assert 40 < len(starts) < 100


def test_a_processor_without_decoder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gfx1030 cannot be decoded"):
        load_formats(tmp_path, "gfx1030")
    with pytest.raises(UsageError, match="ckgen toolchain amd"):
        load_formats(tmp_path, "gfx942")


def test_the_decoder_does_not_come_into_this_process() -> None:
    formats("gfx942")
    assert not any(name.partition(".")[0] == "tinygrad" for name in sys.modules)


def test_matrix_ops_are_told_by_name() -> None:
    assert is_matrix_op("v_wmma_f32_16x16x16_f16")
    assert is_matrix_op("v_smfmac_f32_16x16x32_f16")
    assert not is_matrix_op("v_accvgpr_read_b32")
    assert not is_matrix_op("v_dot4_i32_i8")
