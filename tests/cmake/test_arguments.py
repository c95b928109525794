"""What ckgen_generate says about a wrong call, and how it finds ckgen."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from checkout import command, copy_checkout

import ckgen
import cpp_build
from ckgen.build.runtime_library import tool

PROJECT = """cmake_minimum_required(VERSION 3.23...3.31)
project(arguments LANGUAGES NONE)
set(CKGEN_VERSION {version})
include("{root}/dispatcher_cpp/cmake/CkgenGenerate.cmake")
add_library(headers INTERFACE)
add_library(ckgen::dispatcher ALIAS headers)
{call}
"""


def said(folder: Path, call: str, *options: str, root: Path = cpp_build.ROOT, env: dict[str, str] | None = None) -> str:
    """CMake's message about the call, its line breaks undone; fails where CMake accepts it."""
    source = folder / "source"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(PROJECT.format(version=ckgen.__version__, root=root, call=call))
    done = cpp_build.attempt(tool("cmake"), "-S", source, "-B", folder / "build", *options, env=env)
    assert done.returncode != 0, done.stdout
    return re.sub(r"\s+", " ", done.stdout)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("ckgen_generate(k)", "ckgen_generate(k): TARGETS is missing. Name at least one"),
        ("ckgen_generate(k TARGETS)", "ckgen_generate(k): keyword without a value: TARGETS."),
        ('ckgen_generate(k TARGETS "")', "ckgen_generate(k): TARGETS is empty."),
        ("ckgen_generate(k TARGETS gfx942 OPS)", "keyword without a value: OPS."),
        ("ckgen_generate(k TARGETS gfx942 PROFILE)", "keyword without a value: PROFILE."),
        ("ckgen_generate(k TARGETS gfx942 PROFILE minimal FAST)", "unknown keyword 'FAST'."),
        ("ckgen_generate(k TARGETS gfx942 OUT_DIR)", "keyword without a value: OUT_DIR."),
        ("ckgen_generate(k TARGETS gfx942 TUNNING t.csv)", "unknown keyword 'TUNNING'. Known: TARGETS, OPS, TUNING"),
        ("ckgen_generate(k TARGETS gfx942 PRETUNE s.csv)", "PRETUNE times kernels on this machine's CPU: TARGETS must"),
        ("ckgen_generate(k TARGETS native PRETUNE_BUDGET 5m)", "PRETUNE_BUDGET without PRETUNE."),
        ("ckgen_generate(k TARGETS gfx942,native PRETUNE s.csv)", "PRETUNE: there is no list of shapes"),
        ("ckgen_generate(k SOURCES a.cpp TARGETS gfx942)", "unknown keyword 'SOURCES'."),
        ("ckgen_generate(my-kernels TARGETS gfx942)", "'my-kernels' is not a C++ identifier"),
        ("ckgen_generate(9k TARGETS gfx942)", "'9k' is not a C++ identifier"),
        ("ckgen_generate(a__b TARGETS gfx942)", "'a__b' is not a C++ identifier"),
        ("ckgen_generate(headers TARGETS gfx942)", "ckgen_generate(headers): a target of that name exists already"),
    ],
)
def test_a_wrong_call_is_refused_with_its_reason(tmp_path: Path, call: str, message: str) -> None:
    assert message in said(tmp_path, call)


def test_without_the_dispatcher_target_the_missing_call_is_named(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.23)\nproject(p LANGUAGES NONE)\n"
        f'include("{cpp_build.ROOT}/dispatcher_cpp/cmake/CkgenGenerate.cmake")\nckgen_generate(k TARGETS gfx942)\n'
    )
    done = cpp_build.attempt(tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build")
    assert done.returncode != 0
    assert "Call find_package(ckgen) or add_subdirectory(ckgen) first" in re.sub(r"\s+", " ", done.stdout)


def test_no_ckgen_found_lists_what_was_searched(tmp_path: Path) -> None:
    """The CMake files alone, as they are installed; a Python that has no ckgen."""
    root = tmp_path / "prefix"
    modules = root / "dispatcher_cpp" / "cmake"
    modules.mkdir(parents=True)
    for name in ("CkgenGenerate.cmake", "CkgenFind.cmake"):
        (modules / name).write_bytes((cpp_build.ROOT / "dispatcher_cpp" / "cmake" / name).read_bytes())
    lines = f'case "$*" in *ckgen*) echo "No module named ckgen" >&2; exit 1;; *) exec "{sys.executable}" "$@";; esac'
    (tmp_path / "bin").mkdir()
    python = command(tmp_path / "bin" / "python3", lines)
    message = said(
        tmp_path,
        "ckgen_generate(k TARGETS gfx942)",
        f"-DPython3_EXECUTABLE={python}",
        root=root,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert f"ckgen_generate(k): no ckgen {ckgen.__version__} found. Searched:" in message
    assert "PATH: not there" in message
    assert f"beside {python}: not there" in message
    assert f"Python package: {python} -m ckgen: does not run (1) No module named ckgen" in message
    assert "set CKGEN_EXECUTABLE" in message


def test_another_version_is_never_used(tmp_path: Path) -> None:
    other = command(tmp_path / "ckgen", "echo ckgen 0.0.9")
    message = said(tmp_path, "ckgen_generate(k TARGETS gfx942)", f"-DCKGEN_EXECUTABLE={other}")
    assert f"CKGEN_EXECUTABLE: {other}: version '0.0.9', needed is {ckgen.__version__}" in message


def test_a_failed_generation_shows_what_ckgen_said(tmp_path: Path) -> None:
    ckgen_command = copy_checkout(tmp_path / "checkout") / "ckgen"
    table = tmp_path / "a8w8_tuned_gemm.csv"
    table.write_text("gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName\ngfx942,304,x,1,1,torch.int8,0,0,1,a\n")
    call = f'ckgen_generate(k TARGETS gfx942 TUNING "{table}")'
    message = said(tmp_path, call, f"-DCKGEN_EXECUTABLE={ckgen_command}")
    assert "ckgen_generate(k): ckgen failed" in message
    assert "error[T005]" in message
    assert f"command: {ckgen_command} --config none generate --targets gfx942 --name k" in message


def test_profiles_go_to_ckgen_by_name_or_as_files_of_the_caller(tmp_path: Path) -> None:
    ckgen_command = copy_checkout(tmp_path / "checkout") / "ckgen"
    (tmp_path / "a8w8_tuned_gemm.csv").write_text("gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName\n")
    call = f'ckgen_generate(k TARGETS gfx942 TUNING "{tmp_path}/a8w8_tuned_gemm.csv" PROFILE minimal mine.yaml)'
    message = said(tmp_path, call, f"-DCKGEN_EXECUTABLE={ckgen_command}")
    mine = tmp_path / "source" / "mine.yaml"
    assert f"unknown profile: '{mine}'" in message
    assert f"--profile minimal --profile {mine}" in message


def test_tables_beside_the_shipped_ones_are_paths_of_the_caller(tmp_path: Path) -> None:
    ckgen_command = copy_checkout(tmp_path / "checkout") / "ckgen"
    call = "ckgen_generate(k TARGETS gfx942 TUNING +mine.csv)"
    message = said(tmp_path, call, f"-DCKGEN_EXECUTABLE={ckgen_command}")
    mine = tmp_path / "source" / "mine.csv"
    assert f"the shipped ones, then {mine};" in message and f"--tuning +{mine}" in message


def test_an_unknown_target_is_refused_by_name(tmp_path: Path) -> None:
    ckgen_command = copy_checkout(tmp_path / "checkout") / "ckgen"
    message = said(tmp_path, "ckgen_generate(k TARGETS gfx942 gfx9421)", f"-DCKGEN_EXECUTABLE={ckgen_command}")
    assert "unknown arch 'gfx9421'" in message


def test_only_a_file_of_settings_that_is_named_is_read(tmp_path: Path) -> None:
    """A file above the build folder, with an unknown key: it decides nothing until CONFIG names it."""
    ckgen_command = copy_checkout(tmp_path / "checkout") / "ckgen"
    for folder in ("looked_for", "named"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ckgen.toml").write_text("jobz = 1\n")
    call = "ckgen_generate(k TARGETS gfx942 TUNING none.csv {})"
    found = f"-DCKGEN_EXECUTABLE={ckgen_command}"
    assert "jobz" not in said(tmp_path / "looked_for", call.format(""), found)
    message = said(tmp_path / "named", call.format("CONFIG ../ckgen.toml"), found)
    assert f"{tmp_path / 'named' / 'ckgen.toml'}:1: unknown key 'jobz'" in message
