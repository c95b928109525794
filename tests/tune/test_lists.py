"""Lists of shapes as problems: of every op, for the device that is tuned."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen import paths
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.specs.archs import load_archs
from ckgen.tune.lists import keys_of_lists
from ckgen.tune.problems import Key, case_of, key_of, of_counts
from ckgen.workload.shape_list import AskedShape, write_shapes

CPU = Target("x86_64_v4", 2)


def keys(folder: Path, *lines: AskedShape) -> tuple[dict[Key, int], list[str]]:
    write_shapes(folder / "s.csv", dict.fromkeys(lines, 2))
    notes: list[str] = []
    found = keys_of_lists([folder], CPU, load_archs(), notes.append)
    return found, [one.replace(f"{folder}/", "") for one in notes]


def test_every_op_is_a_problem_under_its_canonical_name(tmp_path: Path) -> None:
    sizes = "batch=1 heads_q=4 heads_k=4 seqlen_q=64 seqlen_k=64 hdim_q=64 hdim_v=64 mask=b:-1;0"
    found, notes = keys(
        tmp_path,
        AskedShape("bf16", 0, 1, 2, 3),
        AskedShape("batched_bf16", 4, 1, 2, 3),
        AskedShape("gemm_fp8_bf16_rcr_blockscale", 0, 16, 128, 128),
        AskedShape("moe_bf16_rcr_layer_gated_epi_silu", 0, 1, 128, 256, 8, 2),
        AskedShape("grouped_gemm_bf16_rcr", 0, 8, 16, 32, sizes="8x16x32;2*4x16x32"),
        AskedShape("fmha_bf16_masked", 0, 0, 0, 0, sizes=sizes),
    )
    assert notes == []
    assert {key.signature for key in found} == {
        "gemm_bf16_rcr", "gemm_bf16_rcr_batched", "gemm_fp8_ocp_bf16_rcr_blockscale",
        "moe_bf16_rcr_layer_gated_epi_silu", "grouped_gemm_bf16_rcr", "fmha_bf16_masked",
    }  # fmt: skip
    assert set(found.values()) == {2}
    for problem in of_counts(found, CPU):
        assert key_of(problem.case) == problem.key


def test_what_another_device_asked_is_left_out_and_said(tmp_path: Path) -> None:
    line = ("gemm_bf16_rcr", 0, 1, 2, 3, 0, 0, "")
    found, notes = keys(
        tmp_path,
        AskedShape(*line, "gfx942", 304),
        AskedShape(*line, "x86_64_v4", 4),
        AskedShape(*line, "sm_90a", 132, "h200"),
        AskedShape(*line, CPU.gfx, 2),
        AskedShape(*line),
    )
    assert found == {Key("gemm_bf16_rcr", 0, 1, 2, 3): 4}
    assert notes == ["note: s.csv: left out: 3 that another device asked"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (AskedShape("nonsense", 0, 1, 2, 3), "a list of shapes: unknown signature"),
        (AskedShape("fmha_bf16", 0, 0, 0, 0, sizes="batch=1"), "fmha_bf16 batch=1: fmha_bf16 needs heads_q"),
        (AskedShape("grouped_gemm_bf16_rcr", 0, 8, 16, 32, sizes="8by16"), "--groups takes MxNxK"),
    ],
)
def test_a_line_that_makes_no_problem_is_said(tmp_path: Path, line: AskedShape, said: str) -> None:
    with pytest.raises(UsageError) as error:
        of_counts(keys(tmp_path, line)[0], CPU)
    assert said in str(error.value)


def test_groups_that_only_a_device_knew_are_left_out_and_said(tmp_path: Path) -> None:
    unknown = AskedShape("grouped_gemm_bf16_rcr", 0, 64, 512, 1024, sizes="on_device 8*64x512x1024")
    found, notes = keys(tmp_path, unknown, AskedShape("bf16", 0, 1, 2, 3))
    assert [key.signature for key in found] == ["gemm_bf16_rcr"]
    assert notes == ["note: s.csv: left out: 1 of groups whose sizes only a device knew"]


def test_a_folder_without_lists_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no list of shapes"):
        keys_of_lists([tmp_path], CPU, load_archs(), print)


def test_a_case_without_sizes_of_groups_has_one_group() -> None:
    assert len(case_of(Key("grouped_gemm_bf16_rcr", 0, 8, 16, 32), CPU).groups or ()) == 1


def test_the_examples_list_has_problems_of_every_operation() -> None:
    notes: list[str] = []
    file = paths.root() / "examples/10_tuning/real_shapes.csv"
    found = keys_of_lists([file], Target("x86_64_v4_bf16", 2), load_archs(), notes.append)
    cases = [case_of(key, Target("x86_64_v4_bf16", 2)) for key in found]
    assert not notes and len(cases) == 24
    assert {case.signature.split("_")[0] for case in cases} == {"gemm", "grouped", "moe", "fmha"}
