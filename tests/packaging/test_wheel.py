"""The wheel: what is in it, and that it works where there is nothing else of ckgen."""

from __future__ import annotations

import json
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging_support import install

import ckgen
import cpp_build

ROOT = cpp_build.ROOT
MOST_BYTES = 5_000_000
"""Of the wheel; it has 2.4 million."""

with (ROOT / "pyproject.toml").open("rb") as file:
    INCLUDED = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]


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
def test_the_wheel_holds_every_shipped_table_and_stays_small(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    shipped = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "tuning").rglob("*") if path.is_file()}
    held = {name.removeprefix("ckgen/_data/"): name for name in archive.namelist() if "/_data/tuning/" in name}
    assert held.keys() == shipped.keys() and sum(name.endswith(".csv") for name in held) == 107
    assert all(archive.read(held[name]) == path.read_bytes() for name, path in shipped.items())
    assert wheel.stat().st_size <= MOST_BYTES


@pytest.mark.slow
def test_an_installed_wheel_chooses_from_any_folder_as_the_checkout_does(site: Path, tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(site)}
    assert cpp_build.run(sys.executable, "-m", "ckgen", "--version", cwd=tmp_path, env=env).split() == [
        "ckgen",
        ckgen.__version__,
    ]
    generate = ("generate", "--targets", "gfx942:304;gfx950", "--signatures", "*_blockscale", "--name", "kernels")
    cpp_build.run(sys.executable, "-m", "ckgen", *generate, "--out", "out", cwd=tmp_path, env=env)
    cpp_build.run(sys.executable, "-m", "ckgen", *generate, "--out", tmp_path / "checkout", cwd=ROOT)
    made, wanted = (tree(tmp_path / name) for name in ("out", "checkout"))
    manifest, expected = (json.loads(one.pop("manifest.json")) for one in (made, wanted))
    assert made == wanted and len(made) > 10
    assert (manifest["inputs"], manifest["summary"]) == (expected["inputs"], expected["summary"])
    assert manifest["summary"]["rows"] == sum(map(rows_of, (ROOT / "tuning").rglob("*.csv"))) > 58_000
    assert manifest["summary"]["selected"] == {"gfx942:304": 21_904, "gfx950:256": 15_512}
    lookup = (tmp_path / "out" / "gemm_fp8_fnuz_bf16_rcr_blockscale" / "lookup_gfx942_304.hpp").read_text()
    assert "n512_k7168[]" in lookup


def rows_of(table: Path) -> int:
    """Lines behind the header that are not blank."""
    return sum(bool(line.strip()) for line in table.read_text(encoding="utf-8-sig").splitlines()) - 1


def tree(folder: Path) -> dict[str, bytes]:
    """Every file's bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
