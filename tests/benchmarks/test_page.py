"""The page of benchmarks and its JSON agree, and what does not is seen."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import page
import pytest
from page import BENCHMARKS, PAGE, problems, read_rows, rendered, renewed, text_of
from support import ROOT, Row, Run

from ckgen.measure.timing import Sample

all_benchmarks = import_module("all")
BLOCKS = "".join(f"<!-- figures: {name} -->\n<!-- end -->\n" for name in BENCHMARKS)


@pytest.fixture
def row(tmp_path: Path) -> Row:
    run = Run("gemm", tmp_path, 2, False, "*")
    peers = {"torch": Sample((0.003,)), "numpy": Sample((0.004,)), "other": "not offered by other"}
    return run.timed("bf16", "product", "8 × 8 × 8", Sample((0.002,)), peers)


def wrong(text: str, rows: list[Row]) -> list[str]:
    return list(problems(rendered(text, rows), rows, {}))


def test_page_json_and_the_commands_of_all_documents_agree() -> None:
    assert list(problems(PAGE.read_text(encoding="utf-8"), read_rows(), all_benchmarks.documents())) == []


def test_every_benchmark_has_rows_that_say_where_and_how_they_were_made() -> None:
    rows = read_rows()
    assert {row.name.split(".")[0] for row in rows} == {*BENCHMARKS}
    assert len({(row.name, row.cpu) for row in rows}) == len(rows)
    for row in rows:
        assert row.cpu and row.threads and row.versions and row.command, row.name
        assert row.command.endswith(f" --only {row.name.split('.')[1]}"), row.name
        assert row.ratio is None or row.peer in row.peers, row.name


def test_the_peer_of_a_ratio_is_the_fastest(row: Row) -> None:
    assert (row.ours, row.unit, row.peer, row.ratio) == (2, "ms", "torch", 1.5)
    assert row.peers == {"torch": 3, "numpy": 4, "other": "not offered by other"}


def test_rows_survive_the_json(row: Row, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    slower = replace(row, name="fmha.a", ratio=None)
    file.write_text(text_of([slower, row]), encoding="utf-8")
    assert read_rows(file) == [row, slower]


def test_a_table_says_what_ours_loses(row: Row) -> None:
    lost = replace(row, name="gemm.fp32", ratio=0.5)
    found = rendered(BLOCKS, [row, lost])
    assert "Ours is slower than the best peer in 1 of 2: fp32." in found
    assert "| 2 ms | torch 3 ms | 1.5× | numpy 4 ms; other: not offered by other |" in found


def test_rows_of_another_cpu_are_a_table_of_their_own_and_stay(row: Row) -> None:
    other = replace(row, cpu="a CPU", ours=7)
    found = rendered(BLOCKS, [row, other])
    assert found.count("| figure | what |") == 2 and "on a CPU; 2 threads" in found
    again, elsewhere = replace(row, ours=8), replace(row, name="fmha.bf16")
    assert renewed([row, other, elsewhere], [again], "gemm") == [other, elsewhere, again]


def test_a_page_that_is_not_of_the_json_is_seen(row: Row) -> None:
    text = rendered(BLOCKS, [row])
    assert list(problems(text, [row], {})) == []
    assert "a table is not that" in "".join(problems(text.replace("3 ms", "4 ms"), [row], {}))
    assert "a table is not that" in "".join(problems(text, [replace(row, ours=9)], {}))


@pytest.mark.parametrize("figure", ["1.7×", "12 ms", "30 GB/s", "485 files", "2.05 s", "96 %"])
def test_a_figure_of_the_prose_that_no_row_has_is_seen(row: Row, figure: str) -> None:
    assert wrong(f"It takes {figure}.\n{BLOCKS}", [row]) == [
        f"docs/benchmarks.md: {figure!r} is in no row of docs/benchmarks.json"
    ]
    assert wrong(f"It takes 2 ms, 1.5× of torch's 3 ms, for K = 7168.\n{BLOCKS}", [row]) == []


def test_a_benchmark_without_a_block_is_seen(row: Row) -> None:
    assert "benchmark moe is not one block" in "".join(wrong(BLOCKS.replace(": moe", ": moo"), [row]))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python benchmarks/gemm.py --realtime", "no such option: --realtime"),
        ("python benchmarks/host_gemm.py", "no such benchmark"),
        ("python benchmarks/gone.py --only x", "no such benchmark"),
    ],
)
def test_a_command_that_cannot_be_run_is_seen(row: Row, command: str, told: str) -> None:
    where = {"docs/x.md": f"Run `{command}`."}
    assert list(problems(rendered(BLOCKS, [row]), [row], where)) == [f"docs/x.md: `{command}`: {told}"]
    assert told in "".join(wrong(BLOCKS, [replace(row, command=command)]))


def test_every_file_that_has_rows_is_a_benchmark() -> None:
    files = (ROOT / "benchmarks").glob("*.py")
    with_rows = {path.stem for path in files if "\ndef rows(run: Run)" in path.read_text(encoding="utf-8")}
    assert with_rows == {*BENCHMARKS} == {*page.BENCHMARKS}
