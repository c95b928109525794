"""ckgen and ckgen-emulator: each alone, both as wheels, and both out of one editable install."""

from __future__ import annotations

import json
import shutil
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging_support import build_wheel, environment, install, install_editable, packages_of

import ckgen
import cpp_build

ROOT = cpp_build.ROOT
PROJECT = ROOT / "emulator"
PLACES = """
import json
from importlib.metadata import version
import ckgen, ckgen_emulator
print(json.dumps([version("ckgen"), version("ckgen-emulator"), ckgen.__file__, ckgen_emulator.__file__]))
"""


def project(folder: Path) -> dict[str, Any]:
    with (folder / "pyproject.toml").open("rb") as file:
        found: dict[str, Any] = tomllib.load(file)["project"]
    return found


def test_both_have_one_version_and_one_licence_and_the_emulator_asks_for_no_more_than_ckgen_does() -> None:
    emulator = project(PROJECT)
    assert emulator["version"] == ckgen.__version__
    first, *others = emulator["dependencies"]
    assert first == f"ckgen=={ckgen.__version__}"
    assert set(others) <= set(project(ROOT)["dependencies"]), "an editable install of ckgen installs these"
    assert (PROJECT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.fixture(scope="module")
def emulator_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(PROJECT, tmp_path_factory.mktemp("emulator"))


@pytest.mark.slow
def test_the_wheel_of_the_emulator_holds_all_that_it_compiles(emulator_wheel: Path) -> None:
    names = set(zipfile.ZipFile(emulator_wheel).namelist())
    sources = [path for path in (PROJECT / "ckgen_emulator").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.suffix for path in sources} == {".py", ".cpp", ".hpp", ".h", ".json", ".s", ".txt"}
    beside = {name for name in names if ".dist-info/" in name}
    assert names - beside == {path.relative_to(PROJECT).as_posix() for path in sources}
    wanted = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    assert {name.partition(".dist-info/")[2] for name in beside} == wanted


@pytest.mark.slow
def test_ckgen_alone_says_what_to_install_and_with_the_other_wheel_has_it(
    wheel: Path, emulator_wheel: Path, tmp_path: Path
) -> None:
    python = environment(tmp_path / "env")
    install(wheel, packages_of(tmp_path / "env"))
    for words in (("emulate", "--help"), ("amd-check", "--execute"), ("fuzz", "--emulate", "1")):
        done = cpp_build.attempt(python, "-m", "ckgen", *words, cwd=tmp_path)
        assert done.returncode == 2 and "needs the distribution ckgen-emulator" in done.stdout, done.stdout
    install(emulator_wheel, packages_of(tmp_path / "env"))
    assert "--code-object FILE" in cpp_build.run(python, "-m", "ckgen", "emulate", "--help", cwd=tmp_path)


@pytest.mark.slow
def test_an_editable_install_of_a_checkout_has_both(tmp_path: Path) -> None:
    checkout = cpp_build.linked_checkout(tmp_path / "checkout", {"emulator"})
    shutil.copytree(PROJECT, checkout / "emulator", ignore=shutil.ignore_patterns("*.dist-info", "__pycache__"))
    (checkout / "emulator" / "ckgen_emulator-0.0.9.dist-info").mkdir()
    python = environment(tmp_path / "env")
    install_editable(checkout, python)
    (written,) = (checkout / "emulator").glob("*.dist-info")
    assert sorted(path.name for path in written.iterdir()) == ["METADATA", "entry_points.txt"]
    version, emulator, *places = json.loads(cpp_build.run(python, "-c", PLACES, cwd=tmp_path))
    assert version == emulator == ckgen.__version__
    assert places == [f"{checkout}/{place}/__init__.py" for place in ("codegen/ckgen", "emulator/ckgen_emulator")]
    assert "--code-object FILE" in cpp_build.run(python, "-m", "ckgen", "emulate", "--help", cwd=tmp_path)
