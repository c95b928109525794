"""Wheels, and environments that hold nothing of this checkout but what is installed into them; no network is asked."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import cpp_build

_PIP = ("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")


def build_wheel(project: Path, folder: Path) -> Path:
    """The wheel of a project, in that folder; the build backend is the environment's."""
    cpp_build.run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, project)
    return next(folder.glob("*.whl"))


def install(wheel: Path, folder: Path) -> None:
    """The wheel alone, in a folder that is on a path or will be."""
    cpp_build.run(sys.executable, "-m", "pip", "install", *_PIP, "--target", folder, wheel)


def install_editable(project: Path, python: Path) -> None:
    """For that interpreter, which needs no pip."""
    options = (*_PIP, "--no-build-isolation", "--editable", project)
    cpp_build.run(sys.executable, "-m", "pip", "--python", python, "install", *options)


def environment(folder: Path) -> Path:
    """The interpreter of a new environment, which has the packages of this one, but none that is installed editable."""
    cpp_build.run(sys.executable, "-m", "venv", "--without-pip", folder)
    packages_of(folder).joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def packages_of(folder: Path) -> Path:
    """Where an environment has its packages."""
    (found,) = folder.glob("lib/python*/site-packages")
    return found
