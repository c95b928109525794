from __future__ import annotations

from pathlib import Path

import pytest

import commands
from ckgen import paths
from learn.learn_support import LAYERS, SIGNATURE, write_journal

AITER = paths.tuning_dir() / "aiter"
SCALED = ("--tables", str(AITER / "model_configs" / "a8w8_blockscale_tuned_gemm_ds_v3.csv"))
ROWWISE = ("--tables", str(AITER / "a8w8_tuned_gemm.csv"))


def run(*words: str) -> tuple[int, str]:
    done = commands.run("heuristic", *words)
    return done.exit_code, done.output


def test_the_way_of_a_shape_ends_with_its_kernel() -> None:
    code, text = run("show", "a8w8_blockscale", "--arch", "gfx942", "--shape", "16,512,7168")
    lines = text.splitlines()
    assert code == 0 and lines[-1].startswith("ck a8w8_blockscale_1x128x128_") and lines[-1].endswith("  k_batch 8")
    assert all(": yes, it is " in line or ": no, it is " in line for line in lines[:-1])


def test_a_whole_rule_has_every_leaf() -> None:
    code, text = run("show", "deepgemm", "--arch", "gfx942")
    assert code == 0
    assert text.splitlines() == [
        "if M < 128", "  cktile deepgemm_256x32x64x256_16x16x64_1x4", "else",
        "  cktile deepgemm_256x128x128x128_16x16x64_1x4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "nope", "--arch", "gfx942"), "no rule of 'nope' on gfx942 ships"),
        (("show", "a8w8_blockscale", "--arch", "gfx1"), "unknown arch 'gfx1'"),
        (("show", "a8w8_blockscale", "--arch", "gfx942", "--shape", "1,2"), "'1,2' is not M,N,K"),
        (("eval", "nope", "--arch", "gfx942"), "no module 'nope' of GEMM tables"),
        (("eval", "a8w8_blockscale", "--arch", "gfx90a", *SCALED), "no row of a8w8_blockscale on gfx90a is selected"),
        (("fit", "a8w8_blockscale", "--arch", "gfx942", "--library", "asm", *SCALED), "their winners are of ck"),
        (("show", "a8w8_blockscale", "--arch", "gfx942:x"), "'gfx942:x' is not GFX, GFX:CUS or GFX:CUS:PRODUCT"),
        (("show", "a8w8", "--arch", "gfx942:80:mi325x"), "mi325x is no product of gfx942 with 80 CUs"),
        (("eval", "a8w8", "--arch", "gfx942:304", *ROWWISE), "no row of a8w8 on gfx942:304 is selected"),
        (("fit", "fp32", "--arch", "x86_64_v4", "--journal", "j"), "not a canonical signature: 'fp32'"),
        (("fit", "gemm_fp32_rcr", "--arch", "x86_64_v4", "--journal", "j"), "cannot read j"),
        (("eval", "a8w8", "--arch", "gfx950", "--tables", ".", "--journal", "j"), "not both"),
        (("eval", "a8w8", "--arch", "gfx950", "--folds", "4", "--drop", "20%"), "--drop needs --journal"),
    ],
)
def test_what_is_not_there_is_said(words: tuple[str, ...], said: str) -> None:
    code, text = run(*words)
    assert code == 2 and said in text


def test_what_journals_know_is_a_table_for_people(tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "j", layers=LAYERS[:3], spread=0.02)
    words = ("eval", SIGNATURE, "--target", "x86_64_v4", "--journal", str(journal), "--folds", "3", "--drop", "20%")
    code, text = run(*words, "--seeds", "2")
    lines = text.splitlines()
    assert code == 0 and f"{SIGNATURE} on x86_64_v4: 42 rows of 3 layers" in lines
    rates, regrets = text.split("time over the best: geometric mean, 95th percentile, worst")
    assert "ceiling: timed again" in rates and "floor: timed again" in regrets
    for way in ("fitted, 3 folds", "selected before", "one kernel for all", "next power of 2", "next measured M"):
        assert way in rates and way in regrets
    assert lines[-2].startswith("instances removed: 1.") and lines[-1].startswith("instances added: 1.")
