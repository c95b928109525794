"""Lists of shapes as problems: of every op, for the device that is tuned."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.specs.archs import load_archs
from ckgen.tune.lists import keys_of_lists
from ckgen.tune.problems import Key, case_of, key_of, of_counts

CPU = Target("x86_64_v4", 2)


@dataclass(frozen=True)
class Line:
    """What a list of all ops holds of a problem."""

    signature: str
    batch: int = 0
    m: int = 0
    n: int = 0
    k: int = 0
    experts: int = 0
    top_k: int = 0
    sizes: str = ""
    gfx: str = ""
    cu_num: int = 0


def keys(monkeypatch: pytest.MonkeyPatch, *lines: Line) -> tuple[dict[Key, int], list[str]]:
    monkeypatch.setattr("ckgen.tune.lists.read_shapes", lambda _: Counter(dict.fromkeys(lines, 2)))
    notes: list[str] = []
    return keys_of_lists([Path("s.csv")], CPU, load_archs(), notes.append), notes


def test_every_op_is_a_problem_under_its_canonical_name(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = "batch=1 heads_q=4 heads_k=4 seqlen_q=64 seqlen_k=64 hdim_q=64 hdim_v=64 mask=b:-1;0"
    found, notes = keys(
        monkeypatch,
        Line("bf16", 0, 1, 2, 3),
        Line("batched_bf16", 4, 1, 2, 3),
        Line("gemm_fp8_bf16_rcr_blockscale", 0, 16, 128, 128),
        Line("moe_bf16_rcr_layer_gated_epi_silu", 0, 1, 128, 256, 8, 2),
        Line("grouped_gemm_bf16_rcr", 0, 8, 16, 32, sizes="8x16x32;2*4x16x32"),
        Line("fmha_bf16_masked", sizes=sizes),
    )
    assert notes == []
    assert [key.signature for key in found] == [
        "gemm_bf16_rcr", "gemm_bf16_rcr_batched", "gemm_fp8_ocp_bf16_rcr_blockscale",
        "moe_bf16_rcr_layer_gated_epi_silu", "grouped_gemm_bf16_rcr", "fmha_bf16_masked",
    ]  # fmt: skip
    assert set(found.values()) == {2}
    for problem in of_counts(found, CPU):
        assert key_of(problem.case) == problem.key


def test_what_another_device_asked_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("gemm_bf16_rcr", 0, 1, 2, 3, 0, 0, "")
    found, notes = keys(
        monkeypatch, Line(*line, "gfx942", 304), Line(*line, "x86_64_v4", 4), Line(*line, "x86_64_v4", 2), Line(*line)
    )
    assert found == {Key("gemm_bf16_rcr", 0, 1, 2, 3): 4}
    assert notes == ["note: s.csv: 2 shapes that another device asked are left out"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (Line("nonsense", 0, 1, 2, 3), "a list of shapes: unknown signature"),
        (Line("fmha_bf16", sizes="batch=1"), "fmha_bf16 batch=1: fmha_bf16 needs heads_q"),
        (Line("grouped_gemm_bf16_rcr", 0, 8, 16, 32, sizes="3:8x16x32"), "only the device knows"),
        (Line("grouped_gemm_bf16_rcr", 0, 8, 16, 32, sizes="8by16"), "--groups takes MxNxK"),
    ],
)
def test_a_line_that_makes_no_problem_is_said(monkeypatch: pytest.MonkeyPatch, line: Line, said: str) -> None:
    with pytest.raises(UsageError) as error:
        of_counts(keys(monkeypatch, line)[0], CPU)
    assert said in str(error.value)


def test_a_case_without_sizes_of_groups_has_one_group() -> None:
    assert len(case_of(Key("grouped_gemm_bf16_rcr", 0, 8, 16, 32), CPU).groups or ()) == 1


def test_the_examples_list_has_problems_of_every_operation() -> None:
    notes: list[str] = []
    file = paths.root() / "examples/10_tuning/real_shapes.csv"
    found = keys_of_lists([file], Target("x86_64_v4_bf16", 2), load_archs(), notes.append)
    cases = [case_of(key, Target("x86_64_v4_bf16", 2)) for key in found]
    assert not notes and len(cases) == 24
    assert {case.signature.split("_")[0] for case in cases} == {"gemm", "grouped", "moe", "fmha"}
