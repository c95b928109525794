"""True compiles of small units, and a static library of them that g++ links and reads."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from amd_support import amd_toolchain
from ckgen import paths
from ckgen.build.amd.model import AmdToolchain
from ckgen.build.artefacts import OutFolder
from ckgen.build.cache import Cache
from ckgen.build.compile import ASSEMBLY, CODE_OBJECT, Unit, device_job, host_job
from ckgen.build.inspect.code_object import read_file
from ckgen.build.library import DeviceInstance, emit_library
from ckgen.build.packed_code import unpack_code
from ckgen.build.pool import Limits, Outcome, run_jobs
from ckgen.emit.render import RUNTIME_ABI
from ckgen.families.common.device.unit import COMPANIONS
from ckgen.model.errors import InputError, UsageError
from fake_compiler import FakeCompiler

LIMITS = Limits(jobs=2, memory_mb=1 << 20)
ID = 0x0123456789ABCDEF
DEVICE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void ckgen_0123456789abcdef_scale(float* x) { x[threadIdx.x] *= 2; }
"""
HOST = f"""
#include <ckgen/device_code.hpp>
#define EXPORTED __attribute__((visibility("hidden")))
extern "C" EXPORTED ckgen::Status ckgen_prepare_{ID:016x}(const ckgen::Launch&, ckgen::Arch, std::uint32_t cu_num,
                                                 ckgen::KernelCall& out) noexcept {{
  out.reset();
  out.grid[0] = cu_num;
  return {{}};
}}
"""
MAIN = """
#include "device_library.hpp"
#include <cstdio>
int main() {
  const ckgen::DeviceLibrary& library = mylib::device_library();
  std::printf("%s %u %u\\n", library.name, library.abi, library.count);
  for (unsigned i = 0; i < library.codes[0]->object_count; ++i) {
    const ckgen::CodeObject& object = library.codes[0]->objects[i];
    std::printf("%d %zu ", static_cast<int>(object.arch), object.unpacked_size);
    for (std::size_t at = 0; at < object.size; ++at) std::printf("%02x", object.bytes[at]);
    std::printf("\\n");
  }
  return library.codes[0]->id == 0x0123456789abcdefULL ? 0 : 1;
}
"""


def made(jobs: list[Unit], toolchain: AmdToolchain, cache: Cache) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    texts = [device_job(unit, toolchain) if unit.arch else host_job(unit, toolchain) for unit in jobs]
    run_jobs(texts, cache, LIMITS, lambda outcome: found.update({outcome.job.label: outcome}), lambda standing: None)
    for outcome in found.values():
        assert outcome.entry.ok, outcome.entry.log
    return found


@pytest.mark.amd
def test_small_units_become_a_library_that_links_with_gcc(tmp_path: Path) -> None:
    toolchain, cache = amd_toolchain(), Cache(tmp_path / "cache")
    archs = ("gfx942", "gfx950")
    units = [Unit(arch, "ck_tile", "", arch, DEVICE) for arch in archs] + [Unit("host", "ck_tile", "", "", HOST)]
    entries = {label: outcome.entry for label, outcome in made(units, toolchain, cache).items()}
    made_of = {arch: entries[arch].output(CODE_OBJECT) for arch in archs}
    objects = {"gfx942": (made_of["gfx942"], made_of["gfx950"]), "gfx950": (made_of["gfx950"],)}
    for arch in archs:
        assert [kernel.name for kernel in read_file(made_of[arch]).kernels] == ["ckgen_0123456789abcdef_scale"]
        assert ".amdgpu_metadata" in entries[arch].output(ASSEMBLY).read_text()
        read = {(header.root, header.path) for header in entries[arch].headers}
        assert ("ckgen", "hip/include/hip/hip_runtime.h") in read
    out = OutFolder(tmp_path / "out")
    instance = DeviceInstance("gemm_small", ID, entries["host"], objects, ())
    library = emit_library("mylib", (instance,), out, toolchain, cache, LIMITS, lambda outcome: None)
    again = emit_library("mylib", (instance,), out, toolchain, cache, LIMITS, lambda outcome: None)
    assert library == again == out.path / "libmylib.a"
    (tmp_path / "main.cpp").write_text(MAIN)
    include = paths.dispatcher_dir() / "include"
    words = [
        "g++",
        "-std=c++17",
        "-Wall",
        "-Werror",
        f"-I{include}",
        f"-I{out.path}",
        "main.cpp",
        str(library),
        "-o",
        "main",
    ]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    head, *lines = done.stdout.splitlines()
    assert head == f"mylib {RUNTIME_ABI} 1"
    unpacked = [unpack_code(bytes.fromhex(line.split()[2])) for line in lines]
    first, second = (made_of[arch].read_bytes() for arch in archs)
    assert unpacked == [first, second, second]
    assert len({line.split()[0] for line in lines[:2]}) == 1 and lines[1].split()[0] != lines[2].split()[0]
    assert [int(line.split()[1]) for line in lines] == [len(data) for data in unpacked]


@pytest.mark.amd
@pytest.mark.parametrize(("backend", "reads_hip"), [("ck_tile", True), ("hip", False), ("", False)])
def test_units_without_a_kernel_library_are_plain_cpp(tmp_path: Path, backend: str, reads_hip: bool) -> None:
    unit = Unit("host", backend, "", "", "int answer() { return 42; }\n")
    entry = made([unit], amd_toolchain(), Cache(tmp_path))["host"].entry
    assert any("hip" in header.path for header in entry.headers) is reads_hip


@pytest.mark.amd
def test_a_unit_that_does_not_compile_is_kept_with_the_compilers_words(tmp_path: Path) -> None:
    toolchain, cache = amd_toolchain(), Cache(tmp_path / "cache")
    found: list[Outcome] = []
    job = device_job(Unit("bad", "ck", "a8w8", "gfx942", '#error "no such kernel"\n'), toolchain)
    for _ in range(2):
        run_jobs([job], cache, LIMITS, found.append, lambda standing: None)
    assert [outcome.cached for outcome in found] == [False, True]
    assert all('error: "no such kernel"' in outcome.entry.log and outcome.entry.code == 1 for outcome in found)


@pytest.mark.parametrize("name", ["my-lib", "class", "a b", ""])
def test_a_name_that_is_no_namespace_is_refused(tmp_path: Path, name: str) -> None:
    fake = FakeCompiler(tmp_path / "tools").toolchain()
    with pytest.raises(UsageError, match="--name"):
        emit_library(name, (), OutFolder(tmp_path), fake, Cache(tmp_path / "cache"), LIMITS, lambda outcome: None)


def test_a_step_that_fails_is_told_and_ends_the_library(tmp_path: Path) -> None:
    compiler = FakeCompiler(tmp_path / "tools")
    compiler.program.write_text("#!/bin/sh\nexit 5\n")
    heard: list[Outcome] = []
    with pytest.raises(InputError, match="B002"):
        emit_library(
            "mylib", (), OutFolder(tmp_path / "o"), compiler.toolchain(), Cache(tmp_path / "c"), LIMITS, heard.append
        )
    assert heard and heard[0].entry.code == 5


def test_companions_of_a_host_unit_are_the_last_members_of_its_device_code() -> None:
    header = (paths.root() / "dispatcher_cpp/include/ckgen/device_code.hpp").read_text(encoding="utf-8")
    members = header.partition("struct DeviceCode {")[2].partition("};")[0]
    assert re.findall(r"const (\w+)\* \w+ = nullptr;", members) == [kind for kind, _ in COMPANIONS]
