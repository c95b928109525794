"""PRETUNE of ckgen_generate: when `ckgen tune` runs, with which words, and that its rows are generated."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from checkout import command, copy_checkout

import ckgen
import cpp_build
from ckgen.build.runtime_library import tool
from ckgen.specs.archs import load_arch
from ckgen.specs.native import own_cpu

PROJECT = """cmake_minimum_required(VERSION 3.23...3.31)
project(pretuned LANGUAGES CXX)
set(CKGEN_VERSION {version})
include("{checkout}/dispatcher_cpp/cmake/CkgenGenerate.cmake")
add_library(headers INTERFACE)
add_library(ckgen::dispatcher ALIAS headers)
ckgen_generate(k TARGETS native OPS gemm SIGNATURES gemm_bf16_rcr TUNING tables {more} PRETUNE shapes.csv)
"""
NATIVE = own_cpu()
KEY = f"{NATIVE.gfx},{NATIVE.cu_num},gemm_bf16_rcr,0,64,1088,1024,0,0,"
HEADER = "gfx,cu_num,signature,B,M,N,K,experts,top_k,sizes,kernelName,splitK,us\n"
CPU = load_arch(NATIVE.gfx).cpu
assert CPU is not None
TABLE = f"{HEADER}{KEY},gemm_bf16_rcr_host_{CPU.register_tiles['f32'][0]}_64x512x512_t0,1,900\n"
FAKE = """out=""; tunes=""
for word in "$@"; do
  test "$before" = --out && out="$word"
  test "$word" = tune && tunes=yes
  before="$word"
done
if test "$tunes"; then
  echo "$@" >> "{folder}/tunes"
  cp "{folder}/table.csv" "$out" || exit 4
  echo "what failed"; echo "the reason" >&2
  exit $(cat "{folder}/exit_code")
fi
exec "{real}" "$@" """


@dataclass
class Project:
    """A consumer whose ckgen writes a table that is known in place of a tune."""

    folder: Path
    checkout: Path

    def configure(self, more: str = "") -> str:
        text = PROJECT.format(version=ckgen.__version__, checkout=self.checkout, more=more)
        (self.folder / "source" / "CMakeLists.txt").write_text(text)
        found = f"-DCKGEN_EXECUTABLE={self.folder / 'fake'}"
        return cpp_build.configure(self.folder / "source", self.folder / "build", found).stdout

    def generate(self) -> str:
        """Builds what is generated, and nothing of it."""
        return cpp_build.attempt(tool("cmake"), "--build", self.folder / "build", "-t", "k_generate").stdout

    @property
    def tunes(self) -> list[str]:
        """The words of each tune."""
        return (self.folder / "tunes").read_text().splitlines()

    @property
    def has_row(self) -> bool:
        lookups = (self.folder / "build" / "ckgen" / "k").rglob("lookup_*.hpp")
        return any("n1088_k1024" in path.read_text() for path in lookups)


def later(path: Path, text: str) -> None:
    """At a time that differs from any before."""
    path.write_text(text)
    os.utime(path, (time.time(),) * 2)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path, copy_checkout(tmp_path / "checkout"))
    command(tmp_path / "fake", FAKE.format(folder=tmp_path, real=made.checkout / "ckgen"))
    (tmp_path / "source" / "tables").mkdir(parents=True)
    (tmp_path / "source" / "shapes.csv").write_text("signature,B,M,N,K,experts,top_k,count\n")
    (tmp_path / "source" / "tables" / "own.csv").write_text(HEADER)
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "exit_code").write_text("0")
    return made


def test_a_tune_runs_where_its_inputs_changed_and_its_rows_are_generated(project: Project) -> None:
    source, made = project.folder / "source", project.folder / "build" / "ckgen"
    assert "tuning for this CPU, 1m at most" in project.configure()
    words = f"--out {made / 'k.pretuned.csv'} --resume --tuning {source / 'tables'}"
    asked = f"--config none tune gemm --target native --shapes {source / 'shapes.csv'} --budget {{}} {words}"
    assert project.tunes == [asked.format("1m")] and project.has_row
    assert "tuning" not in project.configure() + project.generate()
    later(source / "shapes.csv", "signature,B,M,N,K,experts,top_k,count\ngemm_bf16_rcr,0,64,1088,1024,0,0,1\n")
    (project.folder / "table.csv").write_text(HEADER)
    assert "tuning" in project.generate() and len(project.tunes) == 2 and not project.has_row
    of_ckgen = project.checkout / "codegen" / "ckgen" / "version.py"
    later(of_ckgen, of_ckgen.read_text())
    assert "tuning" in project.generate() and len(project.tunes) == 3
    assert "tuning" not in project.generate()
    assert "10m at most" in project.configure("PRETUNE_BUDGET 10m") and project.tunes[3] == asked.format("10m")


def test_a_tune_that_fails_ends_configuring_and_failed_candidates_are_a_warning(project: Project) -> None:
    (project.folder / "exit_code").write_text("3")
    said = re.sub(r"\s+", " ", project.configure())
    assert "PRETUNE: ckgen failed (3): the reason" in said and "Configuring incomplete" in said
    (project.folder / "exit_code").write_text("1")
    said = re.sub(r"\s+", " ", project.configure())
    assert "PRETUNE: candidates failed, the others were tuned: what failed" in said and "Configuring done" in said
    assert project.has_row and "tuning" not in project.configure()
