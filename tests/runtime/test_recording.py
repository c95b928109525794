"""What CKGEN_RECORD leaves of several processes, merged, and as lists that the peer's tuners read."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.table_module import resolve_module
from ckgen.families.tables import table_dialects
from ckgen.tables import LoadOptions, load_tables
from ckgen.workload.shape_list import AskedShape, read_shapes
from ckgen.workload.untuned import untuned_files
from cpp_build import ROOT, SYSTEM_LIBRARIES, dispatcher_archive
from table_support import kind_of

pytestmark = pytest.mark.cpp
CPP = ROOT / "dispatcher_cpp"
KNOWN = {name: found.module for name, found in modules().items()}
PROCESSES, SHIFT, SHAPES = 3, 10, 20
SIGNATURES, TARGETS, ROUNDS = 11, 2, 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    program = folder / "recording"
    archive = dispatcher_archive()
    includes = [f"-I{CPP / 'include'}", f"-I{CPP / 'tests'}"]
    source = Path(__file__).with_name("recording.cpp")
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", *includes]
    subprocess.run(["g++", *flags, str(source), str(archive), *SYSTEM_LIBRARIES, "-o", str(program)], check=True)
    lists = folder / "lists"
    environment = os.environ | {"CKGEN_RECORD": str(lists)}
    running = [subprocess.Popen([program, str(SHIFT * i)], env=environment) for i in range(PROCESSES)]
    assert [process.wait() for process in running] == [0] * PROCESSES
    return lists


@pytest.fixture(scope="module")
def lists(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as the peer's tuners read them."""
    files, left_out = untuned_files(merged(recorded), None)
    folder = tmp_path_factory.mktemp("lists")
    for name, text in files.items():
        (folder / name).write_text(text)
    assert not left_out
    return folder


def merged(folder: Path) -> Counter[AskedShape]:
    return sum(map(read_shapes, sorted(folder.iterdir())), Counter[AskedShape]())


def test_each_process_writes_a_list_of_its_own_with_counts(recorded: Path) -> None:
    assert len(list(recorded.iterdir())) == PROCESSES
    one = read_shapes(next(recorded.iterdir()))
    assert len(one) == SIGNATURES * TARGETS * SHAPES and set(one.values()) == {ROUNDS}
    counts = merged(recorded)
    assert len(counts) == SIGNATURES * TARGETS * (SHAPES + SHIFT * (PROCESSES - 1))
    assert sum(counts.values()) == PROCESSES * SIGNATURES * TARGETS * SHAPES * ROUNDS
    assert {shape.target for shape in counts} == {"gfx942:80", "gfx950:256"}


def test_the_loader_calls_every_untuned_file_a_shape_list(lists: Path) -> None:
    options = LoadOptions(frozenset({"gemm"}), None, KNOWN, lambda _: frozenset(), lambda _: None, table_dialects())
    loaded = load_tables([lists], options)
    assert not loaded.diagnostics
    assert {file.kind for file in loaded.files} == {"gemm_shapes"}
    shapes = SHAPES + SHIFT * (PROCESSES - 1)
    per_line = {"a8w8": 2, "bf16": 1}
    for file in loaded.files:
        assert file.row_count == shapes * per_line.get(file.path.split("_untuned_")[0], 1), file.path


def test_every_module_is_told_by_its_file_and_has_its_peers_columns(lists: Path) -> None:
    expected = {f"{name}_untuned_gemm_{target}.csv" for name in KNOWN for target in ("gfx942_80", "gfx950_256")}
    assert {path.name for path in lists.iterdir()} == expected
    for path in lists.iterdir():
        header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
        assert kind_of(",".join(header)) == "gemm_shapes"
        module = resolve_module(path.name, "B" in header, None, (), KNOWN, lambda _: frozenset())
        assert module is not None and path.name.startswith(f"{module.name}_untuned_gemm_")
        assert header == _peers_header(module.name), path.name


def _peers_header(module: str) -> list[str]:
    """The columns of AITER's own list of that module; of ours, the sizes."""
    if module == "mxfp8":
        return ["M", "N", "K"]
    batched = module.startswith("batched_")
    stem = f"{module.removeprefix('batched_')}_untuned_{'batched_' if batched else ''}gemm"
    text = (ROOT / "tuning" / "aiter" / f"{stem}.csv").read_text(encoding="utf-8")
    return text.splitlines()[0].strip().split(",")
