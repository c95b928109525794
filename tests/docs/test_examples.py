"""The commands of each example's README, run as they stand."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import cpp_build
from amd_support import amd_toolchain
from ckgen.build.runtime_library import tool

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

EXAMPLES = cpp_build.ROOT / "examples"


def run_readme(example: str, folder: Path) -> str:
    """What the last command of the shell block prints, of the README in that checkout; `ckgen` and `cmake` are this
    environment's."""
    text = (folder / "examples" / example / "README.md").read_text()
    lines = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0].splitlines()
    (folder / "bin").mkdir()
    script = folder / "bin" / "ckgen"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}/codegen" exec "{sys.executable}" -m ckgen "$@"\n')
    script.chmod(0o755)
    places = (folder / "bin", Path(tool("cmake")).parent, Path(sys.executable).parent, os.environ["PATH"])
    environment = {"PATH": ":".join(map(str, places)), **cpp_build.objects_of_a_checkout(folder)}
    output = ""
    for line in lines:
        output = cpp_build.run("bash", "-c", line, cwd=folder, env=environment)
    return output


def checkout(folder: Path) -> Path:
    """The checkout as the examples see it, with copies of them and of the generator, which looks beside itself."""
    cpp_build.linked_checkout(folder, {"examples", "codegen"})
    for part in ("examples", "codegen"):
        cpp_build.copy_tree(part, folder)
    return folder


def test_add_subdirectory_dispatches_a_tuned_shape_and_checks_it_on_two_devices(tmp_path: Path) -> None:
    output = run_readme("01_add_subdirectory", checkout(tmp_path / "ckgen"))
    assert "near       ✔" in output or "near      ✔" in output
    assert output.count("correct: 20 x 512 results") == 2


def test_find_package_takes_sizes_from_the_command_line(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "ckgen")
    cpp_build.installed(folder / "prefix")
    output = run_readme("02_find_package", folder)
    assert output.count("correct: 12800 results") == 2


@pytest.mark.amd
def test_gpu_code_is_built_and_attached(tmp_path: Path) -> None:
    amd_toolchain()
    output = run_readme("03_gpu_code", checkout(tmp_path / "ckgen"))
    assert "\n  GPU code for gfx942\non gfx942: can be launched\n" in output


def test_stream_k_grants_every_wish_and_says_why_not(tmp_path: Path) -> None:
    output = run_readme("04_stream_k", checkout(tmp_path / "ckgen"))
    assert output.count(": correct\n") == 10
    for strategy in ("data_parallel", "atomic", "linear", "tree"):
        assert output.count(f"asked for {strategy:<13} got {strategy}") == 2
    assert "refused: too few tiles: their 8 iterations of K are fewer than the 304 workgroups" in output


def test_packed_weights_give_the_bytes_of_plain_ones(tmp_path: Path) -> None:
    output = run_readme("11_prepacked", checkout(tmp_path / "ckgen"))
    assert output.count(": the same bytes\n") == 3
    assert "120000 bytes of weights as 134464 packed ones\nrefused: the packed B is of type fp32, and bf16" in output


def test_an_epilogue_gates_on_a_twin_and_on_this_cpu(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "ckgen")
    cpp_build.installed(folder / "prefix")
    assert run_readme("05_epilogue", folder).count(": correct, 3840 gated results\n") == 2


def test_groups_are_right_on_a_twin_and_on_this_cpu(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "ckgen")
    cpp_build.installed(folder / "prefix")
    output = run_readme("06_grouped_gemm", folder)
    assert output.count(": 5 groups, 4 of them with results: correct\n") == 2
    assert "refused: the size of a group is negative" in output


def test_a_layer_and_its_parts_are_right_on_this_cpu(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "ckgen")
    cpp_build.installed(folder / "prefix")
    output = run_readme("07_moe", folder)
    assert output.startswith("layer: correct, 768 results\ngate_up, down: correct\n")
    assert "refused: tokens sorted in blocks of 48 rows were given, the instance takes blocks of " in output


def test_a_cache_grows_step_by_step_and_is_attended_over(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "ckgen")
    cpp_build.installed(folder / "prefix")
    output = run_readme("09_kv_cache", folder)
    assert output.count(", correct\n") == 6 and "step 4: 17 and 34 tokens in 5 pages" in output
    assert "refused: sequence 1 has 48 rows and 1 more, and the cache has room for 48" in output


def test_a_step_of_training_follows_its_gradients(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "ckgen")
    cpp_build.installed(folder / "prefix")
    assert "fmha_fp32_bwd_masked_dropout_host_64x192_t0\ncorrect: a slope of " in run_readme("12_training", folder)
    if find_spec("torch") is not None:
        program = (folder / "examples/12_training/training.py", folder / "build/12/libtraining_python.so")
        output = cpp_build.run(sys.executable, *program, cwd=folder, env=dict(os.environ))
        assert output.startswith("correct: gradients are within ")


def test_a_list_of_shapes_is_tuned_on_this_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of the list, and seconds of it: the whole takes minutes, and a busy machine leaves winners in doubt.

    The measured library is built two levels below the cache's `bench`: as that is the checkout, its objects are those
    of other builds.
    """
    (tmp_path / "cache").mkdir()
    folder = checkout(tmp_path / "cache" / "bench")
    monkeypatch.setenv("CKGEN_CACHE", str(folder.parent))
    shapes = folder / "examples/10_tuning/real_shapes.csv"
    header, *rows = shapes.read_text().splitlines()
    shapes.write_text(f"{header}\n{next(row for row in rows if row.startswith('gemm_bf16_rcr,0,16,768,4096,'))}\n")
    readme = folder / "examples/10_tuning/README.md"
    commands = readme.read_text()
    assert "--budget 10m" in commands
    readme.write_text(commands.replace("--budget 10m", "--budget 1s"))
    output = run_readme("10_tuning", folder)
    (tuned,) = [line.split(",") for line in (folder / "tuned.csv").read_text().splitlines()[1:]] or [None]
    assert ("exact" in output) == (tuned is not None) and "gemm bf16" in output
