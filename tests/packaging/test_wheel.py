"""The wheel: what is in it, and that it works where there is nothing else of ckgen."""

from __future__ import annotations

import re
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging_support import install

import ckgen
import cpp_build

ROOT = cpp_build.ROOT
LIMIT = 2 * 1024 * 1024
EXTERNAL_ONLY = "bf16_tuned_gemm"

with (ROOT / "pyproject.toml").open("rb") as file:
    INCLUDED = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]


def test_the_tables_of_the_wheel_follow_the_rule_of_the_readme() -> None:
    tuned = [path for path in (ROOT / "tuning" / "aiter").rglob("*tuned*.csv") if "untuned" not in path.name]
    small = [path for path in tuned if "gemm" in path.name and path.stat().st_size < 1_000_000]
    wanted = sorted(path for path in small if EXTERNAL_ONLY not in path.name)
    assert sorted(ROOT / path for path in INCLUDED if path.endswith(".csv")) == wanted
    assert sum(path.stat().st_size for path in wanted) <= LIMIT


def test_every_included_path_exists_and_keeps_its_place() -> None:
    for source, target in INCLUDED.items():
        assert (ROOT / source).exists(), source
        assert target == f"ckgen/_data/{source}"


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install(wheel, folder)
    return folder


@pytest.mark.slow
def test_the_wheel_holds_no_tests_and_no_leftovers(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if "/tests/" in name or "__pycache__" in name or name.startswith("tests")]
    licences = [name for name in names if "dist-info/licenses" in name]
    assert sorted(name.split("licenses/")[1] for name in licences) == ["LICENSE", "tuning/aiter/LICENSE"]
    for needed in (
        "dispatcher_cpp/cmake/CkgenGenerate.cmake",
        "templates/instance/unit.cpp.j2",
        "arch_specs/gfx942.json",
    ):
        assert f"ckgen/_data/{needed}" in names
    modules = {path.relative_to(ROOT / "codegen").as_posix() for path in (ROOT / "codegen").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} >= modules
    assert not [name for name in names if "emulator" in name]


@pytest.mark.slow
def test_an_installed_wheel_generates_from_any_folder(site: Path, tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(site)}
    assert cpp_build.run(sys.executable, "-m", "ckgen", "--version", cwd=tmp_path, env=env).split() == [
        "ckgen",
        ckgen.__version__,
    ]
    generate = ("generate", "--targets", "gfx942:304;gfx950", "--name", "kernels", "--out", "out")
    cpp_build.run(sys.executable, "-m", "ckgen", *generate, cwd=tmp_path, env=env)
    lookup = tmp_path / "out" / "gemm_fp8_fnuz_bf16_rcr_blockscale" / "lookup_gfx942_304.hpp"
    runs = re.findall(r"^    rung\((\d+), (?:(\d+), (\d+), )?[a-z]", lookup.read_text(), re.MULTILINE)
    assert sum((int(last or first) - int(first)) // int(step or 1) + 1 for first, last, step in runs) == 3903


@pytest.mark.slow
def test_a_project_uses_the_sources_inside_an_installed_wheel(site: Path, tmp_path: Path) -> None:
    """add_subdirectory of the wheel's data finds the generator that lies around it; configured, not built."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.23)\nproject(p LANGUAGES CXX)\n"
        f'add_subdirectory("{site}/ckgen/_data" ckgen)\nckgen_generate(kernels TARGETS gfx942)\n'
    )
    done = cpp_build.configure(tmp_path, tmp_path / "build")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "build" / "ckgen" / "kernels" / "include" / "kernels" / "register.hpp").exists()
