"""`ckgen inspect`: its table and JSON, its demands, its exit codes; hand-written code objects too."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import amd_kernels
from amd_support import amd_toolchain, production_wheel
from commands import as_json, ok, run
from elf_writer import code_object, kernel

KEYS = [
    "kernel", "table_name", "arch", "seconds", "peak_mb", "matrix_ops", "opcodes", "vgpr", "agpr", "sgpr", "spills",
    "scratch", "lds", "code_bytes", "findings",
]  # fmt: skip


@pytest.fixture
def built(tmp_path: Path) -> Callable[[str], str]:
    """`built(arch)` is the path of a code object with the test kernels."""

    def place(arch: str) -> str:
        path = tmp_path / f"{arch}.co"
        path.write_bytes(amd_kernels.compiled(arch).data)
        return str(path)

    return place


def test_a_file_that_is_no_code_object_ends_with_exit_3(tmp_path: Path) -> None:
    text, cut = tmp_path / "text.co", tmp_path / "cut.co"
    text.write_text("not ELF")
    cut.write_bytes(code_object()[:200])
    result = run("inspect", str(text), str(cut))
    assert result.exit_code == 3
    assert f"error[O001] {text}: not an AMDGPU code object" in result.stderr
    assert f"error[O002] {cut}: byte 0x" in result.stderr
    document = as_json("inspect", str(text), str(cut), code=3)
    assert [found["code"] for found in document["diagnostics"]] == ["O002", "O001"]


def test_a_file_that_is_not_there_ends_with_exit_3() -> None:
    result = run("inspect", "/nowhere/k.co")
    assert result.exit_code == 3
    assert result.stderr == "error: /nowhere/k.co: No such file or directory\n"


@pytest.mark.parametrize("demand", ["mfma", "v_mfma_f32:0", "v_mfma_f32:x", "V_MFMA", ""])
def test_a_demand_that_is_none_ends_with_exit_2(demand: str, tmp_path: Path) -> None:
    path = tmp_path / "k.co"
    path.write_bytes(code_object())
    result = run("inspect", str(path), "--matrix-op", demand)
    assert result.exit_code == 2
    assert "--matrix-op takes NAME[:COUNT]" in result.stderr


def test_a_toolchain_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "k.co"
    path.write_bytes(code_object())
    result = run("inspect", str(path), env={"CKGEN_AMD_PREFIX": str(tmp_path / "none")})
    assert result.exit_code == 3
    assert "ckgen toolchain amd" in result.stderr


@pytest.mark.amd
def test_json_is_one_array_with_an_entry_per_kernel_and_file(built: Callable[[str], str]) -> None:
    entries = as_json("inspect", built("gfx942"), built("gfx1201"))
    assert [list(entry) for entry in entries] == [KEYS] * len(entries)
    for arch in ("gfx942", "gfx1201"):
        made = amd_kernels.compiled(arch)
        assert [entry["kernel"] for entry in entries if entry["arch"] == arch] == sorted(made.metadata())
    (wmma,) = (entry for entry in entries if entry["kernel"] == "wmma")
    assert wmma["matrix_ops"]["v_wmma_f32_16x16x16_f16"] == wmma["opcodes"]["v_wmma_f32_16x16x16_f16"] == 1
    assert wmma["code_bytes"] > 0 and wmma["findings"] == [] and wmma["seconds"] is None


@pytest.mark.amd
def test_the_table_has_a_line_per_kernel(built: Callable[[str], str]) -> None:
    lines = ok("inspect", built("gfx942")).splitlines()
    assert lines[0].split()[:4] == ["kernel", "arch", "instructions", "vgpr"]
    assert [line.split()[0] for line in lines[1:]] == sorted(amd_kernels.compiled("gfx942").metadata())
    assert "1 v_mfma_f32_32x32x8_f16" in next(line for line in lines if line.startswith("mfma"))


@pytest.mark.amd
def test_demands_that_are_not_met_end_with_exit_1(built: Callable[[str], str]) -> None:
    result = run("inspect", built("gfx942"), "--matrix-op", "v_mfma_f32_32x32x8_f16:2", "--max-scratch", "0")
    assert result.exit_code == 1
    assert "error: shared: no_matrix_ops: none of the" in result.stdout
    assert "error: mfma: wrong_matrix_op: 1 v_mfma_i32_32x32x16_i8 are not what the Config means" in result.stdout
    assert "error: mfma: matrix_op_count: 1 v_mfma_f32_32x32x8_f16 are 0.5 K steps of one wave" in result.stdout
    assert "error: spilling: scratch: 400 bytes of scratch per lane (400, limit 0)" in result.stdout


@pytest.mark.amd
def test_a_warning_is_said_and_ends_with_exit_0(built: Callable[[str], str]) -> None:
    entries = as_json("inspect", built("gfx950"), "--waves", "9")
    assert {found["rule"] for entry in entries for found in entry["findings"]} == {"occupancy"}
    assert {found["severity"] for entry in entries for found in entry["findings"]} == {"warning"}


@pytest.mark.amd
def test_lds_is_always_held_against_the_arch(tmp_path: Path) -> None:
    amd_toolchain()
    path = tmp_path / "k.co"
    metadata = {
        "amdhsa.kernels": [kernel(group_segment_fixed_size=65540)],
        "amdhsa.target": "amdgcn-amd-amdhsa--gfx942",
    }
    path.write_bytes(code_object(metadata=metadata))
    (entry,) = as_json("inspect", str(path), code=1)
    assert [(found["rule"], found["measured"], found["limit"]) for found in entry["findings"]] == [
        ("lds_over_arch", 65540, 65536),
    ]


@pytest.mark.amd
def test_a_processor_without_decoder_is_said(tmp_path: Path) -> None:
    amd_toolchain()
    path = tmp_path / "k.co"
    path.write_bytes(code_object(flags=0x536, target="amdgcn-amd-amdhsa--gfx1030"))
    (entry,) = as_json("inspect", str(path))
    (found,) = entry["findings"]
    assert (found["rule"], found["severity"]) == ("undecoded", "warning")
    assert "there is no decoder for gfx1030" in found["reason"]


@pytest.mark.amd
def test_bytes_that_are_no_instruction_fail_with_their_place(tmp_path: Path) -> None:
    amd_toolchain()
    path = tmp_path / "k.co"
    nonsense = b"\xff" * 8
    data = code_object(b"\x00\x00\x81\xbf" + nonsense)
    path.write_bytes(data)
    (entry,) = as_json("inspect", str(path), code=1)
    (found,) = entry["findings"]
    assert (found["rule"], found["measured"], entry["opcodes"]) == ("undecoded", 4, {"s_endpgm": 1})
    assert found["reason"].endswith(f"{path}, byte {data.index(nonsense):#x}")


@pytest.mark.amd
@pytest.mark.parametrize("folder", ["gfx942/i8gemm/", "gfx950/f4gemm/", "gfx942/topksoftmax/", "gfx950/bf16gemm/"])
def test_production_code_objects_are_inspected(folder: str, tmp_path: Path) -> None:
    path = tmp_path / "k.co"
    with zipfile.ZipFile(production_wheel()) as wheel:
        name = next(name for name in sorted(wheel.namelist()) if folder in name and name.endswith(".co"))
        path.write_bytes(wheel.read(name))
    (entry,) = as_json("inspect", str(path))
    assert entry["findings"] == [] and entry["arch"] == folder[:6]
    assert sum(entry["opcodes"].values()) * 4 <= entry["code_bytes"]
    assert bool(entry["matrix_ops"]) == ("gemm" in folder)
