from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ckgen.families.gemm.reference_data import make_operands
from ckgen.families.gemm.signature import parse_signature
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.tuned_row import Shape
from ckgen.quickstart.problems import gpu_targets, problems_of
from ckgen.quickstart.verify import Buffers
from ckgen.specs.native import own_cpu
from cpp_build import ROOT, objects_of_a_checkout, run

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = next(line for line in README.splitlines() if "ckgen quickstart" in line)
"""The README's first command, which people type next by the name of its last program."""


@dataclass(frozen=True)
class Clone:
    """A fresh clone in which the README's first command has run, as it stands.

    Packages that ckgen says it needs, and no other, are installed already: pip unpacks them no second time.
    """

    folder: Path
    environment: dict[str, str]
    printed: str

    @property
    def library(self) -> Path:
        return self.folder / "ckgen_quickstart" / "build" / "libckgen_quickstart_runtime.so"


def link_needed(folder: Path) -> Path:
    """Makes a folder of links to the packages that ckgen needs, and to those that they need, but for programs."""
    folder.mkdir()
    left, seen = ["ckgen"], {"cmake", "ninja"}
    while left:
        name = left.pop()
        for line in metadata.requires(name) or ():
            needed = Requirement(line)
            if needed.name in seen or (needed.marker is not None and not needed.marker.evaluate({"extra": ""})):
                continue
            seen.add(needed.name)
            left.append(needed.name)
            for entry in {file.parts[0] for file in metadata.files(needed.name) or ()} - {".."}:
                (folder / entry).symlink_to(Path(str(metadata.distribution(needed.name).locate_file(entry))))
    return folder


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    folder = tmp_path_factory.mktemp("fresh") / "clone"
    left_out = {"build", "ckgen_quickstart", ".git", ".venv", ".hypothesis", ".mypy_cache", ".ruff_cache"}
    shutil.copytree(ROOT, folder, ignore=lambda place, names: left_out & {*names} if Path(place) == ROOT else set())
    path = f"/usr/lib/ccache:{Path(sys.base_prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    needed = link_needed(folder.with_name("needed"))
    environment = {"PATH": path, "PYTHONPATH": str(needed), **objects_of_a_checkout(folder)}
    return Clone(folder, environment, run("bash", "-c", FIRST, cwd=folder, env=environment))


@pytest.fixture(scope="module")
def again(clone: Clone) -> subprocess.CompletedProcess[str]:
    """The command a second time, for a machine; it finds the library of the first."""
    before = clone.library.stat().st_mtime_ns
    command = [clone.folder / ".venv" / "bin" / "ckgen", "quickstart", "--json"]
    environment = os.environ | clone.environment
    done = subprocess.run(command, cwd=clone.folder, env=environment, capture_output=True, text=True, check=False)
    assert clone.library.stat().st_mtime_ns == before
    return done


def test_a_fresh_clone_works_and_prints_whole_names(clone: Clone) -> None:
    lines = clone.printed.splitlines()
    assert any(line.rstrip().endswith("_intrawave_v3") for line in lines) and not any("…" in x for x in lines[:50])
    assert "what next" in clone.printed and " 0 wrong" in clone.printed


def test_everything_is_selected_run_and_right_and_nothing_built_again(
    again: subprocess.CompletedProcess[str],
) -> None:
    done = again
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # progress is for terminals
    document = json.loads(done.stdout)
    results = document["results"]
    assert document["wrong"] == 0 and all(result["ok"] for result in results)
    targets = {result["target"] for result in results}
    assert targets == {*map(str, gpu_targets()), str(own_cpu())}
    tiers = {result["tier"] for result in results}
    assert {"exact", "near", "heuristic", "predicted", "far", "other_cu", "default", "unsupported"} <= tiers
    for result in results:
        refused = result["tier"] == "unsupported"
        assert (result["instance"] is None) == refused == bool(result["reason"]) == (result["max_error"] is None)
    assert "near" in document["explain"] and "✔" in document["explain"]


@pytest.mark.parametrize("target", [*gpu_targets(), own_cpu()], ids=str)
def test_each_target_has_about_a_dozen_problems_with_an_illegal_one(target: object) -> None:
    problems = problems_of(target)  # type: ignore[arg-type]
    assert 10 <= len(problems) <= 15
    assert sum("illegal" in problem.what for problem in problems) == 1


def test_buffers_hold_what_the_layout_says() -> None:
    signature = parse_signature("bf16:crr", Fp8Flavour.OCP)
    operands = make_operands(signature, Shape(0, 3, 4, 5), seed=0)
    buffers = Buffers.of(operands, Shape(0, 3, 4, 5))
    assert (buffers.args.lda, buffers.args.ldb, buffers.args.ldc) == (3, 4, 4)
    assert buffers.c.shape == (1, 3, 4)
