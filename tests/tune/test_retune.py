"""The problems of tables, by module; and the rows of problems that one key answers."""

from __future__ import annotations

from pathlib import Path

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.model.target import Target
from ckgen.specs.archs import load_archs
from ckgen.tune.journal import Header
from ckgen.tune.outcome import Outcome, Tuned
from ckgen.tune.problems import Key, Problem, case_of
from ckgen.tune.report import lines_of
from ckgen.tune.retune import UNTOLD, problems_of_tables
from ckgen.tune.search import Searched
from ckgen.tune.table import NO_TABLE, TunedLine, parse_table, with_rows
from tune.fake_measurer import ENVIRONMENT

CPU, GPU = Target("x86_64_v4", 2), Target("gfx942", 304)
GROUPED = "grouped_gemm_bf16_rcr"


def line(m: int, signature: str = "gemm_bf16_rcr") -> TunedLine:
    kernel = f"{signature}_host_6x16_48x512x512_t0"
    return TunedLine(Key(signature, 0, m, 64, 64), kernel, 1, 1e4, 0, 1, 1, "", "", "", "")


def test_rows_of_the_target_are_taken_alone_where_a_module_has_any(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(with_rows(NO_TABLE, GPU, [line(1), line(2), line(8, GROUPED)]))
    found = problems_of_tables((path,), CPU, load_archs())
    assert [key.m for key in found["bf16"].keys] == [1, 2]
    assert [key.m for key in found[UNTOLD].keys] == [8]
    path.write_bytes(with_rows(parse_table(path.read_bytes(), "t.csv"), CPU, [line(4)]))
    found = problems_of_tables((path,), CPU, load_archs())
    assert [key.m for key in found["bf16"].keys] == [4]
    assert found["bf16"].document() == {
        "rows": 3, "problems": 1, "left_out": {"another target's row, beside some of x86_64_v4:2": 2},
    }  # fmt: skip
    assert [key.m for key in found[UNTOLD].keys] == [8], "of each module by itself"


def test_lists_of_shapes_among_tables_are_said_to_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a8w8_untuned_gemm.csv").write_text("M,N,K\n1,64,64\n2,64,64\n")
    (tmp_path / "t.csv").write_bytes(with_rows(NO_TABLE, CPU, [line(1)]))
    found = problems_of_tables((tmp_path,), CPU, load_archs())
    assert {name: (one.rows, len(one.keys)) for name, one in found.items()} == {"bf16": (1, 1), "gemm_shapes": (2, 0)}
    assert found["gemm_shapes"].left_out == {"shape_list: nothing was tuned there": 2}


def test_of_groups_with_one_key_the_row_is_of_those_asked_most() -> None:
    def tuned(sizes: str, kernel: str, count: int) -> Tuned:
        key = Key(GROUPED, 0, 64, 64, 64, sizes=sizes)
        best = Measured(Candidate(kernel), MeasureStatus.OK, "", 5.0, 0.0, 9)
        searched = Searched({best.candidate: best}, 1, (), best.candidate)
        return Tuned(Problem(case_of(key, CPU), key, count), searched, None, best, is_row=True)

    every = [tuned("64x64x64", "few", 2), tuned("64x64x64;8x64x64", "most", 5), tuned("2*64x64x64", "less", 3)]
    for order in (every, every[::-1]):
        (found,) = lines_of(Outcome([order]), Header("c0de", ENVIRONMENT), "")
        assert found.kernel == "most"
