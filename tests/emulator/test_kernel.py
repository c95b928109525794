"""The core reads code objects as the compiler and ckgen's Python reader do, and survives what is none."""

from __future__ import annotations

import random
import struct
import zipfile
from pathlib import Path

import pytest
from object_support import ReadObject, read_object
from step_support import emulator

from amd_kernels import Compiled, compiled
from amd_support import production_wheel
from ckgen.build.inspect.code_object import CodeObject, read_code_object
from ckgen.build.inspect.elf import Source, read_elf
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_arch

pytestmark = pytest.mark.amd

ARCHS = ("gfx90a", "gfx942", "gfx950")
EVERY = 60
"""One in so many of AMD's production objects is compared."""
MUTANTS = 3000

SOURCE = """
#define K extern "C" __attribute__((global)) void
#define LANE __builtin_amdgcn_workitem_id_x()
__attribute__((device, constant)) const int table[8] = {0x11111111, 2, 3, 5, 7, 11, 13, 0x77777777};
static __attribute__((device, shared)) float tile[512];
K looks_up(int* out, short n, const int* in) { out[LANE] = table[in[LANE + n] & 7]; }
K knows_its_grid(unsigned* out) { out[LANE] = ((unsigned*)__builtin_amdgcn_implicitarg_ptr())[1]; }
K spills(const int* a, int* c, int n) {
  int big[96];
  for (int i = 0; i < 96; ++i) big[i] = a[i * n];
  for (int i = 0; i < n; ++i) big[a[i] % 96] += i;
  tile[LANE] = (float)big[n % 96];
  c[LANE] = big[LANE % 96] + (int)tile[LANE ^ 1];
}
"""

RELOCATED = """
__attribute__((device)) int value = 3;
__attribute__((device)) int* place = &value;
extern "C" __attribute__((global)) void k(int* out) { *out = *place; }
"""

LONG_NAME = "k" * 300
"""More than one byte counts, and of other lengths by either byte."""
OF_127_BYTES = f"""
struct Bytes {{ char of[127]; }};
extern "C" __attribute__((global)) void {LONG_NAME}(char* out, Bytes in) {{ *out = in.of[*out]; }}
"""


def object_of(arch: str) -> Compiled:
    return compiled(arch, SOURCE)


def assert_same(found: ReadObject, said: CodeObject) -> None:
    """The core's figures are those that the Python reader has from the metadata."""
    assert (found.error, found.machine) == ("", load_arch(said.arch).elf_machine)
    assert [kernel.name for kernel in found.kernels] == [kernel.name for kernel in said.kernels]
    for kernel, other in zip(found.kernels, said.kernels, strict=True):
        taken = other.resources
        assert (kernel.lds_bytes, kernel.scratch_bytes) == (taken.lds, taken.scratch)
        assert (kernel.kernarg_bytes, kernel.max_workgroup) == (taken.kernarg, taken.max_workgroup)
        assert taken.vgprs <= kernel.vgprs <= 512 and kernel.vgprs % 8 == 0
        arguments = tuple((one.kind, one.offset, one.size) for one in other.arguments)
        assert kernel.arguments == tuple(one for one in arguments if not one[0].startswith("hidden_"))
        assert kernel.hidden == tuple(one for one in arguments if one[0].startswith("hidden_"))
        assert found.image[kernel.entry :].startswith(other.text)
        assert kernel.text_start <= kernel.entry
        assert kernel.entry + len(other.text) <= kernel.text_start + kernel.text_bytes


@pytest.mark.parametrize("arch", ARCHS)
def test_kernels_are_those_of_the_compilers_metadata(arch: str) -> None:
    made = object_of(arch)
    found = read_object(made.data)
    assert_same(found, made.code())
    said = made.metadata()
    assert {kernel.name for kernel in found.kernels} == set(said) == {"looks_up", "knows_its_grid", "spills"}
    by_name = {kernel.name: kernel for kernel in found.kernels}
    for name, kernel in by_name.items():
        arguments = [(a[".value_kind"], a[".offset"], a[".size"]) for a in said[name][".args"]]
        assert [*kernel.arguments, *kernel.hidden] == arguments
    assert by_name["looks_up"].arguments[1] == ("by_value", 8, 2)
    assert "hidden_block_count_y" in [kind for kind, *_ in by_name["knows_its_grid"].hidden]
    assert by_name["spills"].scratch_bytes > 0 and by_name["spills"].lds_bytes == 2048
    assert by_name["spills"].accum_offset % 4 == 0


def test_long_names_and_the_largest_number_of_one_byte_are_read() -> None:
    made = compiled("gfx942", OF_127_BYTES)
    found = read_object(made.data)
    assert_same(found, made.code())
    [kernel] = found.kernels
    assert kernel.name == LONG_NAME
    assert kernel.arguments[1] == ("by_value", 8, 127)


def test_the_image_has_constants_at_their_addresses() -> None:
    made = object_of("gfx942")
    constants = struct.pack("<8i", 0x11111111, 2, 3, 5, 7, 11, 13, 0x77777777)
    offset = made.data.index(constants)
    sections = read_elf(Source("k.co", made.data)).sections
    (place,) = (one for one in sections if one.address and one.offset <= offset < one.offset + one.size)
    address = offset - place.offset + place.address
    assert read_object(made.data).image[address : address + len(constants)] == constants


def test_production_objects_are_read_as_the_python_reader_does() -> None:
    with zipfile.ZipFile(production_wheel()) as wheel:
        names = sorted(name for name in wheel.namelist() if name.endswith(".co"))
        assert len(names) == 2501
        for name in names[::EVERY]:
            data = wheel.read(name)
            found = read_object(data)
            said = read_code_object(Source(name, data))
            assert_same(found, said)
            assert said.arch == Path(name).parts[2]


def test_code_with_relocations_is_refused() -> None:
    assert "relocations" in read_object(compiled("gfx942", RELOCATED).data).error


def test_code_of_other_processors_is_refused() -> None:
    def refusal(data: bytes) -> str:
        with pytest.raises(UsageError) as caught:
            emulator("gfx942").load(data)
        return str(caught.value)

    assert "code for gfx1100 on a gfx942" in refusal(compiled("gfx1100", SOURCE).data)
    data = bytearray(object_of("gfx942").data)
    data[0x30] = 0x4F
    assert "code with e_flags 79 on a gfx942, which has 76" in refusal(bytes(data))


def test_a_file_that_is_cut_short_is_refused() -> None:
    data = object_of("gfx942").data
    assert all(read_object(data[:size]).error for size in range(0, len(data), 37))


def test_no_change_of_bytes_leads_out_of_the_file() -> None:
    """Every mutant is refused with words, or read as something whose every place is inside."""
    original = object_of("gfx942").data
    note = original.index(b"amdhsa.kernels")
    tables = len(original) - 64 * struct.unpack_from("<H", original, 60)[0]
    places = [(0, 64), (64, 64 + 56 * 9), (note - 24, note + 2000), (tables, len(original)), (0, len(original))]
    dice = random.Random(20)
    read = 0
    for _ in range(MUTANTS):
        data = bytearray(original)
        for _ in range(dice.randint(1, 3)):
            start, end = dice.choice(places)
            at = dice.randrange(start, min(end, len(data)))
            data[at] = dice.choice((0, 1, 0x7F, 0x80, 0xDD, 0xDF, 0xFF, dice.randrange(256)))
        found = read_object(bytes(data))
        if found.error:
            assert not found.kernels and not found.image
            continue
        read += 1
        for kernel in found.kernels:
            assert kernel.text_start <= kernel.entry < kernel.text_start + kernel.text_bytes <= len(found.image)
    assert MUTANTS // 20 < read < MUTANTS
