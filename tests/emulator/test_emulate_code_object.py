"""`ckgen emulate --code-object`: anybody's kernel, launched as a YAML file says."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from step_support import kernel

import commands
from amd_kernels import compiled
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs
from ckgen_emulator.chip import chip_of

SOURCE = """
#define K extern "C" __attribute__((global)) void
K scale(float* out, const float* in, float factor, short n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) out[i] = in[i] * factor;
}
"""
YAML = """\
target: gfx942
grid: [2]
block: [64]
arguments:
  - {name: out, shape: [100], dtype: float32, output: true, expected: expected.npy, tolerance: 1e-6}
  - {name: in, file: in.npy}
  - {name: factor, type: float32, value: 2.5}
  - {name: n, type: int16, value: 100}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A code object, its input and what it must give."""
    (tmp_path / "k.co").write_bytes(compiled("gfx942", SOURCE).data)
    values = np.linspace(-3, 3, 100, dtype=np.float32)
    np.save(tmp_path / "in.npy", values)
    np.save(tmp_path / "expected.npy", values * np.float32(2.5))
    (tmp_path / "args.yaml").write_text(YAML, encoding="utf-8")
    return tmp_path


def run(folder: Path, *options: str, yaml: str | None = None, name: str = "scale") -> Result:
    """The command on that folder."""
    if yaml is not None:
        (folder / "args.yaml").write_text(yaml, encoding="utf-8")
    words = ("emulate", "--code-object", str(folder / "k.co"), "--args", str(folder / "args.yaml"), "--kernel", name)
    return commands.run(*words, *options)


def document(result: Result, code: int = 0) -> Any:
    """Its JSON."""
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.mark.amd
def test_a_kernel_gives_what_is_expected(folder: Path) -> None:
    trace = folder / "trace.txt"
    found = document(run(folder, "--json", "--stats", "--outputs", str(folder / "outputs"), "--trace", str(trace)))
    assert found["ok"] and found["findings"] == [] and found["target"] == "gfx942:304"
    assert found["checked"] == [{"name": "out", "max_abs_err": 0.0, "tolerance": 1e-6, "wrong": 0}]
    assert np.array_equal(np.load(folder / "outputs" / "out.npy"), np.load(folder / "expected.npy"))
    assert found["stats"]["global_written"] == 400 and found["stats"]["waves"] == 2
    assert len(trace.read_text().splitlines()) == found["instructions"] == sum(found["stats"]["by_class"].values())


@pytest.mark.amd
def test_a_core_that_is_compiled_first_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow() -> None:
        time.sleep(0.2)
        raise UsageError("enough")

    monkeypatch.setenv("CKGEN_PROGRESS_SECONDS", "0.02")
    monkeypatch.setattr("ckgen_emulator.code_object.run.core_library", slow)
    assert "preparing the emulator, 0 s\n" in run(folder).stderr
    assert run(folder, "--quiet").stderr == "error: enough\n"


@pytest.mark.amd
def test_what_is_wrong_is_found_and_located(folder: Path) -> None:
    beyond = document(run(folder, "--json", yaml=YAML.replace("value: 100", "value: 101")), code=1)
    assert "out_of_bounds" in {finding["rule"] for finding in beyond["findings"]}
    (store,) = [one for one in beyond["findings"] if "store" in one["instruction"]]
    assert (store["group"], store["wave"], store["lane"]) == ([1, 0, 0], 0, 36) and beyond["checked"][0]["wrong"] == 0
    short = run(folder, yaml=YAML.replace("value: 100", "value: 99"))
    assert short.exit_code == 1 and "out        1 element wrong" in short.stdout and short.stdout.endswith("failed\n")
    unwritten = YAML.replace("file: in.npy", "shape: [100], dtype: float32")
    found = run(folder, yaml=unwritten)
    assert found.exit_code == 1 and "uninitialised" in found.stdout


@pytest.mark.amd
def test_offsets_place_arguments(folder: Path) -> None:
    lines = YAML.splitlines(keepends=True)
    placed = [line.replace("- {", f"- {{offset: {at}, ") for line, at in zip(lines[4:], (0, 8, 16, 20), strict=True)]
    assert run(folder, yaml="".join(lines[:4] + placed[::-1])).exit_code == 0
    code = kernel("s_load_dword s5, s[0:1], 4\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, s5\nv_add_u32 v1, v1, v1", "gfx942")
    (folder / "k.co").write_bytes(code)  # its metadata tells no arguments: they lie as C would lay them
    bare = "target: gfx942\ngrid: 1\nblock: 64\narguments: [{type: uint8, value: 1}, {type: int32, value: -3}]\n"
    assert run(folder, yaml=bare, name="k").exit_code == 0
    assert run(folder, yaml=bare.replace("{type: int32, value: -3}", ""), name="k").exit_code == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("grid: [2]", "gird: [2]", "error[E002] {file}:2: unknown key 'gird'"),
        ("target: gfx942\n", "", "error[E003] {file}:1: key 'target' is missing"),
        ("gfx942", "gfx1100", "error[E004] {file}: target takes one of"),
        ("block: [64]", "block: [0]", "error[E004] {file}:3: an integer from 1 to 1024 is expected, not '0'"),
        ("value: 2.5", "value: much", "error[E004] {file}:7: not a value of float32: 'much'"),
        ("type: int16, value: 100", "type: int16, value: 40000", "error[E004] {file}:8: not a value of int16: '40000'"),
        ("in.npy", "absent.npy", "error[E001] {file}:6: cannot read absent.npy: No such file or directory"),
        ("dtype: float32", "dtype: float33", "error[E004] {file}:5: unknown type 'float33'"),
        ("shape: [100]", "shape: [99]", "error[E004] {file}:5: its shape is (100,), the argument's (99,)"),
        ("name: in,", "name: out,", "{file}:5: two arguments are called 'out'"),
        ("type: int16", "type: int32", "error[E005] {file}:8: 'n' has 4 bytes, the kernel's argument 2 (by_value)"),
        (
            "  - {name: n, type: int16, value: 100}\n",
            "",
            "error[E005] {file}: 3 arguments in order, the kernel takes 4",
        ),
        ("{name: n, type", "{name: n, offset: 18, type", "error[E005] {file}:"),
    ],
)
@pytest.mark.amd
def test_a_file_that_says_no_launch_is_refused_where_it_is_wrong(folder: Path, old: str, new: str, said: str) -> None:
    result = run(folder, "--json", yaml=YAML.replace(old, new))
    assert result.exit_code == 3 and said.format(file=folder / "args.yaml") in result.stderr, result.stderr
    assert json.loads(result.stdout)["diagnostics"]


@pytest.mark.amd
def test_a_kernel_that_is_not_there_is_a_usage_error(folder: Path) -> None:
    result = run(folder, name="scales")
    assert result.exit_code == 2 and "has no kernel 'scales' (known: scale)" in result.stderr


def test_a_chip_is_the_product_with_as_many_units() -> None:
    arch = load_archs()["gfx942"]
    assert (chip_of(arch, 304).xcds, chip_of(arch, 304).lds_bytes) == (8, 65536)
    for sku in arch.skus:
        assert chip_of(arch, sku.cu_num).xcds == sku.xcds
    assert chip_of(arch, 37).xcds == arch.xcds
