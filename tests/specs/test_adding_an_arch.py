"""ADDING_AN_ARCH.md works when it is followed: an arch that copies another has all that the other has."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cpp_build
from amd_support import amd_toolchain
from ckgen import paths

ARCH, ORIGINAL = "gfx9f0", "gfx942"
DOCUMENT = paths.arch_specs_dir() / "ADDING_AN_ARCH.md"
COUNTING = Path(__file__).with_name("another_arch.py")
COMMANDS = Path(__file__).with_name("run_commands.py")
TWINS = Path(__file__).with_name("run_twins.py")
TOOLCHAIN = Path(__file__).with_name("unoptimised.cmake")
KERNEL = "gemm_bf16_ccr_ck_tile_compv3_intrawave_cshuffle_pad111_16x64x64_1x4x1_16x16x16"
"""One of tests/build/inspect/recorded_set.json's, which CI compiles anyway."""


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which all commands of the document have run, and what they printed."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "arch_specs").symlink_to(paths.arch_specs_dir())
    (folder / "bin").mkdir()
    for name, module in (("python", ""), ("ckgen", "-m ckgen")):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return folder, run(folder, "bash", "-ec", "".join(blocks))


def run(folder: Path, *command: str) -> str:
    """What a command prints there, with the arch known."""
    python_path = os.pathsep.join(map(str, (paths.package_dir().parent, Path(cpp_build.__file__).parent)))
    environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": python_path}
    if (folder / "my_archs").is_dir():
        environment["CKGEN_ARCH_SPECS"] = str(folder / "my_archs")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_steps_are_numbered_in_order() -> None:
    steps = re.findall(r"^(\d+)\. ", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number in steps] == list(range(1, len(steps) + 1))


def test_following_the_steps_adds_an_arch(followed: tuple[Path, str]) -> None:
    folder, said = followed
    assert f"{ARCH}: cdna3, default 304" in said
    assert f"gemm fp16·fp16→fp16 rcr  M=100 N=5120 K=2048  on {ARCH}:304" in said.replace("fp16 fp16·", "fp16·")
    assert (folder / "my_kernels" / "gemm_fp16_rcr" / "unit.cpp").is_file()


def test_it_has_as_many_instances_of_each_kind(followed: tuple[Path, str]) -> None:
    counts = json.loads(run(followed[0], "python", str(COUNTING), ARCH, str(paths.tuning_dir() / "aiter")))
    assert counts[ARCH] == counts[ORIGINAL]
    assert counts[ARCH].keys() >= {
        "gemm ck", "gemm ck_tile", "stream_k ck_tile", "grouped_gemm ck_tile", "moe ck", "fmha ck_tile", "fmha hip",
    }  # fmt: skip


PROBLEMS = {
    "gemm": ("gemm", "--signature", "gemm_fp16_rcr", "--shape", "100,5120,2048"),
    "stream_k": ("stream_k", "--signature", "gemm_fp16_rcr", "--shape", "100,5120,2048"),
    "groups": ("grouped_gemm", "--signature", "grouped_gemm_bf16_rcr", "--groups", "100x5120x2048,7x5120x2048"),
    "attention": (
        "fmha:bf16_masked", "heads_q=32", "heads_k=8", "seqlen_q=512", "seqlen_k=512", "hdim_q=128", "hdim_v=128",
    ),
}  # fmt: skip


LOOKED_UP = ("lookup", "gemm", "--target", ARCH, "--signature", "a8w8_blockscale", "--shape", "100,5120,2048")


def explaining(name: str, arch: str) -> tuple[str, ...]:
    """The command that explains a problem on an arch."""
    op, *words = PROBLEMS[name]
    return ("explain", op, "--target", f"{arch}:304", *words)


@pytest.fixture(scope="module")
def said(followed: tuple[Path, str]) -> dict[tuple[str, ...], str]:
    """What each command prints, of one process that reads the specs once."""
    commands = [LOOKED_UP, *(explaining(name, arch) for name in PROBLEMS for arch in (ARCH, ORIGINAL))]
    printed: list[str] = json.loads(run(followed[0], "python", str(COMMANDS), json.dumps(commands)))
    return dict(zip(commands, printed, strict=True))


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_answered_as_on_the_original(said: dict[tuple[str, ...], str], name: str) -> None:
    here, there = said[explaining(name, ARCH)], said[explaining(name, ORIGINAL)]
    assert here.replace(ARCH, ORIGINAL) == there and "✔" in there


def test_heuristics_of_its_family_answer(said: dict[tuple[str, ...], str]) -> None:
    assert "  heuristic  " in said[LOOKED_UP]


def test_its_generated_library_compiles_with_its_header(followed: tuple[Path, str]) -> None:
    folder, _ = followed
    check = folder / "check.cpp"
    check.write_text(
        "#include <ckgen/arch_data.hpp>\n"
        f'static_assert(ckgen::find_arch("{ARCH}:sramecc+") == ckgen::Arch::{ARCH});\n'
        f"static_assert(ckgen::arch_info(ckgen::Arch::{ARCH}).lds_bytes == 65536);\n",
        encoding="utf-8",
    )
    headers = ("my_archs/include", "my_kernels/include", str(paths.dispatcher_dir() / "include"))
    command = ("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *(f"-I{one}" for one in headers))
    units = sorted((folder / "my_kernels").rglob("*.cpp"))
    assert len(units) == 2
    for unit in (check, *units):
        run(folder, *command, str(unit))


@pytest.mark.cpp
@pytest.mark.long
def test_its_twins_are_right(followed: tuple[Path, str]) -> None:
    """In a library that CMake compiles whole with the header of all specs; the build is kept, as quickstart's.

    Nothing that it compiles names an arch (test_no_arch_is_named.py), and the original's twins run in every run.
    """
    environment = cpp_build.objects_of_a_checkout(cpp_build.ROOT) | {"CMAKE_TOOLCHAIN_FILE": str(TOOLCHAIN)}
    words = [f"{name}={value}" for name, value in environment.items()]
    place = cpp_build.ROOT / "ckgen_another_arch"
    found = json.loads(run(followed[0], "env", *words, "python", str(TWINS), f"{ARCH}:304", str(place)))
    assert None not in found["instances"] and found["excess"] == [0, 0, 0]


@pytest.mark.amd
def test_a_gpu_kernel_of_it_is_compiled_as_its_processor(followed: tuple[Path, str]) -> None:
    amd_toolchain()
    run(followed[0], "ckgen", "build", "--targets", ARCH, "--kernels", KERNEL, "--emit", "asm", "--out", "objects")
    (assembly,) = (followed[0] / "objects").rglob("*.s")
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{ORIGINAL}"' in assembly.read_text(encoding="utf-8")
    assert assembly.parent.name == ARCH
