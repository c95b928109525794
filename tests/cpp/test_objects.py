"""What users compile and link: each public header alone, and objects in which nothing runs before main."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ckgen.emit.render import render
from cpp_build import ROOT, dispatcher_archive
from plan_support import LARGE, SMALL_M, plan_of, row, write_table

pytestmark = pytest.mark.cpp

INCLUDE = ROOT / "dispatcher_cpp" / "include"
HEADERS = sorted(path.name for path in (INCLUDE / "ckgen").glob("*.hpp"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
RUN_BEFORE_MAIN = (".init_array", ".ctors", ".preinit_array")


def test_there_are_headers() -> None:
    assert "ckgen.hpp" in HEADERS and len(HEADERS) > 15


GPU_CODE = """
#include "backends/device/kernel_call.hpp"
#include "backends/device/kernel_call.hpp"
extern "C" ckgen::Status prepare(const ckgen::Launch& launch, ckgen::Arch, std::uint32_t cu_num,
                                 ckgen::KernelCall& call) noexcept {
  struct { const void* a; std::uint32_t cu_num; } args{launch.args->a, cu_num};
  const ckgen::Status status = ckgen::device::fill(call, "kernel", {1, 2, 3}, {256}, 0, args);
  if (status.ok()) ckgen::device::clear_c(call, launch);
  return status;
}
extern "C" const unsigned char bytes[];
static constexpr ckgen::CodeObject objects[] = {{ckgen::Arch::gfx942, bytes, 10, 20}};
static constexpr ckgen::DeviceCode code{1, prepare, objects, 1, nullptr};
static constexpr const ckgen::DeviceCode* codes[] = {&code};
static constexpr ckgen::DeviceLibrary library{"gpu", CKGEN_RUNTIME_ABI, codes, 1};
extern "C" const void* ckgen_gpu_device_library() { return &library; }
"""


@pytest.mark.parametrize("header", HEADERS)
def test_each_header_compiles_alone(header: str) -> None:
    _compile(f"#include <ckgen/{header}>\n#include <ckgen/{header}>\n", "c++", "-std=c++17")


def test_the_c_header_is_c_and_cpp() -> None:
    _compile("#include <ckgen/c_api.h>\n", "c", "-std=c11")
    _compile("#include <ckgen/c_api.h>\n", "c++", "-std=c++17")


def test_nothing_of_the_library_runs_before_main() -> None:
    archive = dispatcher_archive()
    sections = _sections(archive)
    assert "select.cpp.o" in sections
    assert [line for line in sections.splitlines() if any(name in line for name in RUN_BEFORE_MAIN)] == []


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_nothing_generated_runs_before_main(optimisation: str, tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale_tuned_gemm.csv", [row(16, SMALL_M), row(256, LARGE)])
    sources = []
    for path, text in render(plan_of(table), "lib").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        sources += [tmp_path / path] if path.endswith(".cpp") else []
    assert sources
    whole, target = tmp_path / "whole.cpp", tmp_path / "whole.o"
    whole.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
    flags = ["-std=c++17", optimisation, f"-I{INCLUDE}", f"-I{tmp_path / 'include'}"]
    subprocess.run(["g++", *flags, "-c", str(whole), "-o", str(target)], check=True)
    assert not any(name in _sections(target) for name in RUN_BEFORE_MAIN)


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_nothing_of_gpu_code_runs_before_main(optimisation: str, tmp_path: Path) -> None:
    source, target = tmp_path / "gpu.cpp", tmp_path / "gpu.o"
    source.write_text(GPU_CODE, encoding="utf-8")
    flags = ["-std=c++17", *WARNINGS, optimisation, f"-I{INCLUDE}", f"-I{INCLUDE.parent}"]
    subprocess.run(["g++", *flags, "-c", str(source), "-o", str(target)], check=True)
    assert ".rodata" in _sections(target) or ".data.rel.ro" in _sections(target)
    assert not any(name in _sections(target) for name in RUN_BEFORE_MAIN)


def _compile(text: str, language: str, standard: str) -> None:
    compiler = "gcc" if language == "c" else "g++"
    command = [compiler, standard, *WARNINGS, "-fsyntax-only", f"-I{INCLUDE}", "-x", language, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _sections(binary: Path) -> str:
    return subprocess.run(["objdump", "-h", str(binary)], capture_output=True, text=True, check=True).stdout
