"""Names that no generated library can have are those of CMake's own targets and of ckgen's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cpp_build
from ckgen.build.runtime_library import tool
from ckgen.emit.target_names import why_not_a_target

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(p LANGUAGES NONE)
enable_testing()
install(FILES CMakeLists.txt DESTINATION .)
set(CPACK_GENERATOR TGZ)
include(CPack)
"""
RESERVED = {
    "all", "ALL_BUILD", "help", "install", "INSTALL", "preinstall", "clean", "edit_cache", "rebuild_cache", "test",
    "ZERO_CHECK", "package", "package_source",
}  # fmt: skip
OF_OTHER_GENERATORS = {"RUN_TESTS", "PACKAGE"}
FREE = ("kernels", "tests", "ckgen_generated", "installed")


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_cmake_has_no_target_of_its_own_that_is_not_refused(tmp_path: Path, generator: str) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    cmake, build = tool("cmake"), tmp_path / "build"
    done = cpp_build.attempt(cmake, "-S", tmp_path, "-B", build, "-G", generator)
    assert done.returncode == 0, done.stdout
    told = cpp_build.attempt(cmake, "--build", build, "--target", "help").stdout
    names = set(re.findall(r"^(?:\.\.\. )?(\w+)(?: \(.*\)|: \w+)?$", told, re.MULTILINE))
    own = {name for name in names if name not in ("The", "depend")}
    assert {"clean", "test", "package", "edit_cache", "rebuild_cache", "list_install_components"} <= own
    assert not {name for name in own if why_not_a_target(name) is None}


def test_cmake_refuses_what_is_reserved_and_nothing_that_is_free(tmp_path: Path) -> None:
    lines = [f"add_custom_target({name})" for name in FREE]
    (tmp_path / "CMakeLists.txt").write_text(PROJECT + "\n".join(lines))
    done = cpp_build.attempt(tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build")
    assert done.returncode == 0, done.stdout
    assert all(why_not_a_target(name) is None for name in FREE)
    lines = [f"add_custom_target({name})" for name in RESERVED]
    (tmp_path / "CMakeLists.txt").write_text(PROJECT + "\n".join(lines))
    done = cpp_build.attempt(tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build")
    said = " ".join(done.stdout.split())
    assert {name for name in RESERVED if f'The target name "{name}" is reserved' in said} == RESERVED
    assert {why_not_a_target(name) for name in RESERVED | OF_OTHER_GENERATORS} == {"a target of CMake's own"}


def test_own_targets_are_those_of_the_cmake_files() -> None:
    found = set()
    for place in ("CMakeLists.txt", "dispatcher_cpp", "emulator/ckgen_emulator"):
        root = cpp_build.ROOT / place
        for path in [root] if root.is_file() else root.rglob("CMakeLists.txt"):
            if "tests" not in path.relative_to(cpp_build.ROOT).parts:
                found |= set(re.findall(r"add_(?:library|executable)\((ckgen_\w+) (?!ALIAS)", path.read_text()))
    assert found and not {name for name in found if why_not_a_target(name) != "a target of ckgen's own"}
