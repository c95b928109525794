"""A tune that is read again where its device is not: from its journal, nothing measured and nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import ok, run

TARGET = "sm_90a:132"
NAMES = ("gemm_bf16_rcr_cutlass_64x64x64_2x1_pp", "gemm_bf16_rcr_cutlass_128x128x64_2x1_pp")
HEADER = {
    "schema": "ckgen.journal/1",
    "code": "c0de",
    "environment": {"device": "a GPU", "target": TARGET, "driver": "1.2", "threads": 1, "versions": []},
    "conditions": "flush=True",
    "tool": "ckgen 0.1.0",
}
SHAPES = "signature,B,M,N,K,experts,top_k,count\n"
TUNE = ("tune", "gemm", "--target", TARGET, "--shapes", "shapes.csv", "--journal", "j.jsonl", "--out", "t.csv")
AGAIN = (*TUNE, "--resume", "--exhaustive", "--min-improvement", "0")


def text_of(m: int) -> str:
    return f"signature=gemm_bf16_rcr target={TARGET} m={m} n=4096 k=512 seed=1"


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two kernels of two problems, in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CKGEN_CUDA_LIBRARY", "none")
    lines = [{"header": HEADER}]
    for number, m in enumerate((64, 512), 1):
        problem = text_of(m)
        lines.append({"asked": {"problem": problem, "selected": {"instance": NAMES[0], "k_batch": 1}}})
        for name, us in zip(NAMES, (20.0, 10.0 if m == 512 else 30.0), strict=True):
            place = {"problem": problem, "rung": "confirm", "turn": 1, "together": number, "instance": name}
            measured = {"k_batch": 1, "status": "ok", "median_us": us, "spread": 0.001, "runs": 15}
            lines.append({"measured": place | measured})
    path = tmp_path / "j.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "shapes.csv").write_text(SHAPES + rows(64, 512), encoding="utf-8")
    return path


def rows(*sizes: int) -> str:
    return "".join(f"gemm_bf16_rcr,0,{m},4096,512,0,0,1\n" for m in sizes)


def test_the_table_is_that_of_the_journal_with_the_device_s_provenance(journal: Path) -> None:
    before = journal.read_bytes()
    assert "0 measurements made, 4 known" in ok(*AGAIN)
    _, *found = Path("t.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[10] for line in found] == [NAMES[0], NAMES[1]]
    assert all(",2,a GPU,1.2,flush=True,ckgen 0.1.0," in line for line in found)
    assert journal.read_bytes() == before


def test_a_problem_that_the_journal_does_not_hold_is_refused() -> None:
    Path("shapes.csv").write_text(SHAPES + rows(64, 100, 200), encoding="utf-8")
    result = run(*AGAIN)
    assert result.exit_code == 2
    assert "no such GPU is there. Build here" in result.stderr
    assert f"The journals do not hold {text_of(100)}, and 1 other" in result.stderr
    assert not Path("t.csv").exists()


def test_a_further_turn_that_it_does_not_hold_is_refused(journal: Path) -> None:
    text = journal.read_text(encoding="utf-8").replace('"median_us": 10.0', '"median_us": 19.7')
    journal.write_text(text.replace('"spread": 0.001', '"spread": 0.05'), encoding="utf-8")
    result = run(*TUNE, "--resume")
    assert result.exit_code == 2 and "The journals do not hold signature=gemm_bf16_rcr" in result.stderr


def test_a_journal_of_another_target_is_refused(journal: Path) -> None:
    journal.write_text(journal.read_text(encoding="utf-8").replace("sm_90a:132", "sm_90a:114"), encoding="utf-8")
    result = run(*AGAIN)
    assert result.exit_code == 2 and "sm_90a:132: no such GPU is there" in result.stderr
