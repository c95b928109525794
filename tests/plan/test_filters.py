"""Filters that fit nothing are errors of the command line, with the nearest names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckgen.model.diagnostic import Severity
from ckgen.model.errors import UsageError
from plan_support import SMALL_M, plan_of, row, write_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("t") / "a8w8_blockscale.csv", [row(16, SMALL_M), row(32)])


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"signatures": ("gemm_fp16_rcc",)}, "--signatures 'gemm_fp16_rcc' fits none of "),
        ({"signatures": ("gemm_bf61_rcr",)}, "the nearest are 'gemm_bf16_rcr', "),
        ({"kernels": ("a8w8_blokscale_1x128x128_256x16x64x256*",)}, f"the nearest are '{SMALL_M}', "),
        ({"kernels": ("*intrawav",)}, "_intrawave_"),
        ({"kernels": (SMALL_M,), "signatures": ("gemm_fp16_rcr",)}, "--kernels and --signatures leave no kernel of "),
        ({"backends": frozenset({"asm"}), "kernels": (SMALL_M,)}, "--backend and --kernels leave no kernel of "),
    ],
)
def test_a_filter_that_fits_or_leaves_nothing_is_an_error_that_names_what_is_near(
    table: Path, filters: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as error:
        plan_of(table, **filters)
    assert said in str(error.value) and "`ckgen list instances`" in str(error.value)


def test_every_glob_that_fits_nothing_is_told(table: Path) -> None:
    with pytest.raises(UsageError) as error:
        plan_of(table, signatures=("one*", "two*"), kernels=("three*",))
    told = [line.split(" fits ")[0] for line in str(error.value).splitlines()[:-1]]
    assert told == ["--signatures 'one*'", "--signatures 'two*'", "--kernels 'three*'"]


def test_beside_one_that_fits_it_is_a_warning(table: Path) -> None:
    plan = plan_of(table, signatures=("one*", "gemm_*", "two*"), kernels=("three*", "*"))
    told = [(one.code, one.severity, one.message.split(" fits none of ")[0]) for one in plan.diagnostics]
    unfit = ("--signatures 'one*'", "--signatures 'two*'", "--kernels 'three*'")
    assert plan.instances and told == [("P005", Severity.WARNING, option) for option in unfit]


def test_errors_of_tables_are_told_before_filters(tmp_path: Path) -> None:
    broken = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, "nonsense")])
    assert [one.code for one in plan_of(broken, kernels=("nothing",)).diagnostics] == ["T012"]


def test_a_glob_may_be_of_the_table_s_name_the_config_s_or_the_instance_s(table: Path) -> None:
    wanted = next(one for one in plan_of(table).instances if one.table_kernel == SMALL_M)
    for glob in (SMALL_M, wanted.config.text(), wanted.name):
        kept = [one for one in plan_of(table, kernels=(glob,)).instances if one.table_kernel]
        assert {one.table_kernel for one in kept} == {SMALL_M}, glob
