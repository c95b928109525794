"""Plans of one process read a table once, and anew when anything differs that its rows are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.plan.inputs import gfx_of_cu, load_options
from ckgen.plan.options import PlanOptions
from ckgen.specs.archs import load_archs
from ckgen.tables import LoadedTables, load, load_tables
from ckgen.tables.lately import Lately
from plan_support import GFX942, GFX950, row, write_table

ARCHS = load_archs()


def loaded(path: Path, **options: object) -> LoadedTables:
    return load_tables([path], load_options(PlanOptions(targets=(GFX942,), **options), ARCHS))  # type: ignore[arg-type]


def test_equal_tables_with_equal_options_have_the_same_rows(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16), row(32)])
    (first,), (again,) = loaded(table).files, loaded(table).files
    assert again is first and len(first.rows) == 2


def test_what_was_wrong_is_said_again(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, us="fast")])
    first, again = loaded(table), loaded(table)
    assert first.diagnostics == again.diagnostics and first.diagnostics


def test_another_text_place_layer_or_option_is_read_anew(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16)])
    (first,) = loaded(table).files
    copy = write_table(tmp_path / "b" / "a8w8_blockscale.csv", [row(16)])
    assert loaded(copy).files[0].source == copy
    assert loaded(table, ops=frozenset({"moe"})).files[0].rows == ()
    below = load_tables([copy, table], load_options(PlanOptions(targets=(GFX942,)), ARCHS)).files
    assert [one.layer for one in below] == [0, 1] and {one.layer for file in below for one in file.rows} == {0, 1}
    write_table(table, [row(16), row(64)])
    assert [one.shape.m for one in loaded(table).of(type(first.rows[0]))] == [16, 64]


def test_a_large_table_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_KNOWN", Lately(100))
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16)])
    assert loaded(table).files[0] is not loaded(table).files[0]


def test_archs_of_counts_are_equal_where_they_answer_alike() -> None:
    usual = gfx_of_cu(ARCHS, (), {})
    assert (
        usual == gfx_of_cu(ARCHS, (GFX942,), {}) != gfx_of_cu(ARCHS, (GFX950,), {}) and usual(GFX942.cu_num) == "gfx942"
    )
    assert usual != gfx_of_cu(ARCHS, (), {GFX942.cu_num: "gfx950"})
    assert usual(7) is None and gfx_of_cu(ARCHS, (), {7: "gfx950"})(7) == "gfx950"


def test_the_oldest_of_what_weighs_too_much_is_made_again() -> None:
    made: list[int] = []
    lately = Lately[int](20)
    for key in (1, 2, 1, 3, 2, 3):
        assert lately.get(key, 10, lambda key=key: made.append(key) or key * 10) == key * 10  # type: ignore[func-returns-value, misc]
    assert made == [1, 2, 3, 2]
