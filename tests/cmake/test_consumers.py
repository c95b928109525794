"""Real consumer projects: add_subdirectory with nothing set, find_package of an install tree, static and shared."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import command

import ckgen
import cpp_build
from ckgen.build.runtime_library import tool

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

CONSUMERS = cpp_build.ROOT / "tests" / "consumers"
RUNS = f"gfx942 default {ckgen.__version__}\ngfx950 heuristic {ckgen.__version__}\n"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An install tree that was moved after it was installed."""
    first = cpp_build.installed(tmp_path_factory.mktemp("install") / "first place")
    return first.rename(first.with_name("second place"))


def built_and_run(source: Path, folder: Path, *options: str) -> str:
    """What the consumer's program prints; configured and built without a word of warning from CMake."""
    done = cpp_build.configure(source, folder, *options)
    assert done.returncode == 0, done.stdout
    assert "Warning" not in done.stdout
    done = cpp_build.build(folder)
    assert done.returncode == 0, done.stdout
    cpp_build.run(folder / "headers_only")
    return cpp_build.run(folder / "use")


@pytest.mark.parametrize("shared", ["OFF", "ON"])
def test_find_package_of_a_moved_install_tree(prefix: Path, tmp_path: Path, shared: str) -> None:
    """The consumer has neither exceptions nor RTTI; a shared library of kernels brings no dispatcher of its own."""
    folder = tmp_path / "build"
    flags = ("-DCMAKE_CXX_FLAGS=-fno-exceptions -fno-rtti", f"-DBUILD_SHARED_LIBS={shared}")
    found = (f"-DCMAKE_PREFIX_PATH={prefix}", *path_to_ckgen(tmp_path))
    assert built_and_run(CONSUMERS / "find_package", folder, *found, *flags) == RUNS * 2
    defining = {
        file.name
        for file in folder.iterdir()
        if file.suffix == ".so" or file.name == "use"
        if " T ckgen::v1::Dispatcher::select(" in cpp_build.run("nm", "-C", "--defined-only", file)
    }
    assert defining == ({"use"} if shared == "OFF" else set())


def test_a_shared_dispatcher_exports_its_headers_and_nothing_else(prefix: Path) -> None:
    library = prefix / "lib" / "libckgen_dispatcher.so"
    symbols = cpp_build.run("nm", "-DC", "--defined-only", library).splitlines()
    strong = {line.split(maxsplit=2)[2] for line in symbols if line.split(maxsplit=2)[1] in "TDBR"}
    inner = ("ckgen::v1::detail::", "ckgen::v1::host::", "ckgen::v1::device::", "ckgen::v1::Dispatcher::Impl::")
    api = {name for name in strong if name.startswith(("ckgen::v1::", "ckgen_")) and not name.startswith(inner)}
    assert strong == api
    assert "soname: [libckgen_dispatcher.so.0.1]" in cpp_build.run("readelf", "-d", library)


def test_a_parent_without_exceptions_compiles_the_library(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    flags = ("-DCMAKE_CXX_FLAGS=-fno-exceptions -O0", f"-DCKGEN_SOURCE_DIR={cpp_build.ROOT}")
    done = cpp_build.configure(CONSUMERS / "add_subdirectory", folder, *flags)
    assert done.returncode == 0, done.stdout
    catches = "ckgen/dispatcher_cpp/CMakeFiles/ckgen_dispatcher_objects.dir/units/registry.cpp.o"
    done = cpp_build.build(folder, "--target", catches)
    assert done.returncode == 0, done.stdout


def test_only_the_levels_asked_for_are_compiled(tmp_path: Path) -> None:
    source = ("-S", cpp_build.ROOT, "-DCKGEN_BUILD_TESTS=OFF", "-G", "Ninja")
    make = f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"

    def levels(asked: str) -> str:
        return cpp_build.attempt(tool("cmake"), *source, make, "-B", tmp_path, f"-DCKGEN_HOST_LEVELS={asked}").stdout

    levels("x86_64_v4")
    targets = cpp_build.run(tool("ninja"), "-C", tmp_path, "-t", "targets", "all")
    assert [one for one in ("isa/v3.cpp.o", "isa/v4.cpp.o", "isa/v4_bf16.cpp.o") if one in targets] == [
        "isa/v3.cpp.o",
        "isa/v4.cpp.o",
    ]
    said = " ".join(levels("avx2").split())
    assert "unknown level 'avx2'. Known: x86_64_v3, x86_64_v4, x86_64_v4_bf16, x86_64_amx." in said
    said = " ".join(levels("x86_64_v4;x86_64_amx").split())
    assert "x86_64_amx needs x86_64_v4_bf16" in said
    said = " ".join(levels("x86_64_v4_bf16").split())
    assert "x86_64_v4_bf16 needs x86_64_v4," in said


def test_add_subdirectory_with_nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a build type; what optimises is the environment, whose flags are then those of every other build."""
    folder = cpp_build.linked_checkout(tmp_path / "ckgen", set())
    for name, value in cpp_build.objects_of_a_checkout(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CXXFLAGS", "-Werror -O3 -DNDEBUG")
    source = f"-DCKGEN_SOURCE_DIR={folder}"
    assert built_and_run(CONSUMERS / "add_subdirectory", folder / "build" / "consumer", source) == RUNS * 2


@pytest.mark.parametrize("wanted", ["0.2", "1.0", "0.0.1"])
def test_another_minor_version_is_not_accepted(prefix: Path, tmp_path: Path, wanted: str) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.23)\nproject(p LANGUAGES CXX)\nfind_package(ckgen {wanted} REQUIRED)\n"
    )
    done = cpp_build.configure(tmp_path, tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert done.returncode != 0
    assert "ckgenConfig.cmake, version: 0.1.0" in done.stdout


def test_the_install_tree_holds_exactly_these_files(prefix: Path, golden: Callable[[str, str], None]) -> None:
    files = sorted(path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if not path.is_dir())
    golden("cmake/install_tree.txt", "".join(f"{file}\n" for file in files))


def test_no_installed_cmake_file_names_the_place_where_it_was_built(prefix: Path) -> None:
    for path in prefix.rglob("*.cmake"):
        text = path.read_text()
        assert str(cpp_build.ROOT) not in text, path
        assert str(cpp_build.BUILD) not in text, path


def path_to_ckgen(folder: Path) -> tuple[str, ...]:
    """An installed package needs a ckgen command: this interpreter's, from the source tree."""
    line = f'PYTHONPATH="{cpp_build.ROOT}/codegen" exec "{sys.executable}" -m ckgen "$@"'
    return (f"-DCKGEN_EXECUTABLE={command(folder / 'ckgen', line)}",)


def test_presets_are_read_by_cmake(tmp_path: Path) -> None:
    shutil.copy(cpp_build.ROOT / "CMakePresets.json", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.23)\n")
    listed = cpp_build.run(tool("cmake"), "--list-presets", cwd=tmp_path)
    assert [line.split('"')[1] for line in listed.splitlines() if '"' in line] == [
        "dev",
        "release",
        "asan",
        "tsan",
        "ci",
    ]
