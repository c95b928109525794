"""The reproducers of docs/upstream for ck_tile's scaled GEMMs: each bug is there in the pinned tree."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from scaled_answers import compile_host

from amd_support import amd_toolchain
from ckgen import paths
from cpp_build import ROOT

pytestmark = [pytest.mark.amd, pytest.mark.cpp]

UPSTREAM = ROOT / "docs" / "upstream"
BF16_ADDS = UPSTREAM / "ck_tile_bf16_atomics.hip"
ROWS_AT = 8


def test_flatmm_accepts_what_it_computes_wrongly(tmp_path: Path) -> None:
    made = compile_host((UPSTREAM / "ck_tile_flatmm.cpp").read_text("utf-8"), tmp_path / "flatmm.cpp", library=False)
    subprocess.run(["g++", "-o", str(tmp_path / "flatmm"), str(made), "-xc++", "-include", "iostream", "/dev/null"],
                   check=True, capture_output=True)  # fmt: skip
    said = subprocess.run([tmp_path / "flatmm"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert said == [
        "split: accepted 1, K 4096, read 8192",
        "store: accepted 1",
        "padded K: accepted 1, B's rows 2560 apart, taken as 2048",
        "sizes: accepted 1, A has 4294967296 elements, counted 0",
        "int8: 7 * 0.5 * 0.5 = 1",
    ]


def loaded_arguments(text: str, arch: str, folder: Path) -> tuple[set[str], set[int]]:
    """Atomics of the kernel `add_rows`, and the bytes of its arguments that it loads."""
    toolchain = amd_toolchain()
    (folder / "k.hip").write_text(text, encoding="utf-8")
    own = [f"-I{paths.dispatcher_dir()}"]
    command = [*toolchain.device(arch), *own, "-O3", "-std=c++20", "-DNDEBUG", "-S", "-o", "k.s", "k.hip"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    body = (folder / "k.s").read_text("utf-8").partition("\nadd_rows:")[2].partition("s_endpgm")[0]
    loads = re.findall(r"s_load_dword(?:x(\d+))? \S+, s\[\d+:\d+\], (0x\w+)", body)
    found = {at + byte for count, start in loads for at in (int(start, 16),) for byte in range(4 * int(count or 1))}
    return set(re.findall(r"\b(?:global|buffer|flat)_atomic\w+", body)), found


@pytest.mark.parametrize(
    ("arch", "adds"), [("gfx942", "global_atomic_cmpswap_x2"), ("gfx950", "buffer_atomic_pk_add_bf16")]
)
def test_bf16_adds_are_checked_on_one_arch_only(arch: str, adds: str, tmp_path: Path) -> None:
    """On gfx942 the kernel loads its first and third argument and never the number of rows, at byte 8."""
    atomics, loaded = loaded_arguments(BF16_ADDS.read_text("utf-8"), arch, tmp_path)
    assert atomics == {adds}
    assert (ROWS_AT in loaded) == (arch == "gfx950")


def test_our_epilogue_asks_for_the_rows(tmp_path: Path) -> None:
    """The same adds, by CheckedRows around an epilogue that does nothing else."""
    text = BF16_ADDS.read_text("utf-8").replace(
        'extern "C"',
        """\
#include <backends/ck_tile/checked_rows.hpp>
struct Adds {
  template <class Window, class Tile, class Ds>
  __device__ void operator()(Window& c, const Tile& tile, const Ds&, void*) { ck_tile::update_tile(c, tile); }
};
extern "C\"""",
    )
    text = text.replace("update_tile(window, tile);", "ckgen::tile::CheckedRows<Adds>{}(window, tile, 0, nullptr);")
    atomics, loaded = loaded_arguments(text, "gfx942", tmp_path)
    assert atomics == {"global_atomic_cmpswap_x2"}
    assert ROWS_AT in loaded


def test_the_1d_partitioner_stores_to_a_shared_variable(tmp_path: Path) -> None:
    toolchain = amd_toolchain()
    command = [*toolchain.device("gfx942"), "-O3", "-std=c++20", "-DNDEBUG", "-S", "-o", str(tmp_path / "k.s")]
    source = str(UPSTREAM / "ck_tile_partitioner.hip")
    done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "k.s").read_text("utf-8")
    assert re.search(r"^\s+\.type\s+\w*GemmTile1DPartitioner\w*2N_E,@object", text, re.MULTILINE)
    assert re.search(r"\bs_getpc_b64\b", text), "its address is taken"
