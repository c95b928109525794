from __future__ import annotations

import pytest
from click.testing import CliRunner

from ckgen.cli import cli


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["heuristic", *words])
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
        (("eval", "a8w8_blockscale", "--arch", "gfx90a"), "no row of a8w8_blockscale on gfx90a is selected"),
        (("fit", "a8w8_blockscale", "--arch", "gfx942", "--library", "asm"), "their winners are of ck"),
    ],
)
def test_what_is_not_there_is_said(words: tuple[str, ...], said: str) -> None:
    code, text = run(*words)
    assert code == 2 and said in text
