"""Recorded figures: a change is seen, unequal flags are refused, an unknown compiler is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckgen.build.inspect.recorded import FIGURES, Record, compare, load_records, recorded_file, text_of
from ckgen.model.diagnostic import Severity
from ckgen.model.errors import UsageError

COMPILER = "clang version 22.1.8"
FP16 = "v_mfma_f32_32x32x8_f16"
FIGURES_OF_K: dict[str, Any] = {
    "vgpr": 186, "agpr": 0, "sgpr": 28, "spills": 0, "scratch": 0, "lds": 32768, "code_bytes": 4096,
    "matrix_ops": {FP16: 64},
}  # fmt: skip
K = Record("k", "gfx942", "flags-1", FIGURES_OF_K)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the records of one compiler."""
    other = replace(K, arch="gfx950")
    recorded_file(COMPILER, tmp_path).write_text(text_of([other, K], COMPILER, "by hand"), encoding="utf-8")
    return tmp_path


def test_records_are_read_as_they_were_written(folder: Path) -> None:
    assert load_records(COMPILER, folder) == {("k", "gfx942"): K, ("k", "gfx950"): replace(K, arch="gfx950")}
    assert recorded_file(COMPILER, folder).name == "clang-version-22.1.8.json"


def test_records_do_not_depend_on_the_order_of_kernels() -> None:
    other = replace(K, kernel="a")
    assert text_of([other, K], COMPILER, "x") == text_of([K, other], COMPILER, "x")


def test_equal_figures_are_no_finding(folder: Path) -> None:
    assert compare(K, COMPILER, folder) == ()


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_s_change_is_seen_with_old_and_new(figure: str, folder: Path) -> None:
    new: Any = {FP16: 32} if figure == "matrix_ops" else FIGURES_OF_K[figure] + 4
    (found,) = compare(replace(K, figures={**FIGURES_OF_K, figure: new}), COMPILER, folder)
    assert (found.rule, found.severity) == ("changed_figures", Severity.WARNING)
    old_text, new_text = (f"64 {FP16}", f"32 {FP16}") if figure == "matrix_ops" else (FIGURES_OF_K[figure], new)
    assert (found.limit, found.measured) == (old_text, new_text)
    assert found.reason == f"{figure} was {old_text}, is {new_text}"


def test_a_kernel_without_record_is_passed_over(folder: Path) -> None:
    assert compare(replace(K, kernel="other"), COMPILER, folder) == ()


def test_a_compiler_without_records_is_a_note(folder: Path) -> None:
    (found,) = compare(K, "clang version 23.0.0", folder)
    assert (found.rule, found.severity) == ("changed_figures", Severity.NOTE)


def test_figures_of_unequal_flags_are_not_compared(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"k on gfx942: compiled with flags flags-2, recorded with flags-1"):
        compare(replace(K, flags="flags-2"), COMPILER, folder)


def test_a_file_of_another_form_or_compiler_is_refused(folder: Path) -> None:
    path = recorded_file(COMPILER, folder)
    document = json.loads(path.read_text(encoding="utf-8"))
    for wrong in ({"schema": "other/1"}, {"compiler": "clang version 21"}):
        path.write_text(json.dumps(document | wrong), encoding="utf-8")
        with pytest.raises(UsageError, match="not the figures of clang version"):
            compare(K, COMPILER, folder)


def test_a_record_is_made_of_an_entry_of_the_json() -> None:
    entry = {"kernel": "k", "arch": "gfx942", "seconds": 12.0, "findings": [], **FIGURES_OF_K}
    assert Record.of(entry, "flags-1") == K
