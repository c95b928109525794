"""What users compile and link: each public header alone, and objects in which nothing runs before main."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ckgen.emit.render import render
from cpp_build import ROOT, built
from plan_support import LARGE, SMALL_M, plan_of, row, write_table

pytestmark = pytest.mark.cpp

INCLUDE = ROOT / "dispatcher_cpp" / "include"
HEADERS = sorted(path.name for path in (INCLUDE / "ckgen").glob("*.hpp"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
RUN_BEFORE_MAIN = (".init_array", ".ctors", ".preinit_array")


def test_there_are_headers() -> None:
    assert "ckgen.hpp" in HEADERS and len(HEADERS) > 15


@pytest.mark.parametrize("header", HEADERS)
def test_each_header_compiles_alone(header: str) -> None:
    _compile(f"#include <ckgen/{header}>\n#include <ckgen/{header}>\n", "c++", "-std=c++17")


def test_the_c_header_is_c_and_cpp() -> None:
    _compile("#include <ckgen/c_api.h>\n", "c", "-std=c11")
    _compile("#include <ckgen/c_api.h>\n", "c++", "-std=c++17")


def test_nothing_of_the_library_runs_before_main() -> None:
    archive = built("ckgen_dispatcher") / "dispatcher_cpp" / "libckgen_dispatcher.a"
    sections = _sections(archive)
    assert "dispatcher.cpp.o" in sections
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
    for source in sources:
        target = source.with_suffix(".o")
        flags = ["-std=c++17", optimisation, f"-I{INCLUDE}", f"-I{tmp_path / 'include'}"]
        subprocess.run(["g++", *flags, "-c", str(source), "-o", str(target)], check=True)
        assert not any(name in _sections(target) for name in RUN_BEFORE_MAIN), source.name


def _compile(text: str, language: str, standard: str) -> None:
    compiler = "gcc" if language == "c" else "g++"
    command = [compiler, standard, *WARNINGS, "-fsyntax-only", f"-I{INCLUDE}", "-x", language, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _sections(binary: Path) -> str:
    return subprocess.run(["objdump", "-h", str(binary)], capture_output=True, text=True, check=True).stdout
