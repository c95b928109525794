"""Documents made to cost time or memory end as invalid input with a place, at every option that reads one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.specs.__main__ import main as check_specs
from commands import run
from fake_compiler import FakeCompiler

YAML = {
    "aliases": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        2,
        "aliases are not read",
    ),
    "depth": ("\n" + "[" * 10_000, 2, "nested deeper than 64 levels"),
    "digits": (f"op: gemm\nx: {'9' * 5_001}\n", 2, "a number of 5,001 digits"),
    "size": ("# \n" * (3 << 20), 0, "larger than 8 MiB"),
}
JSON = {
    "depth": ("\n" + "[" * 10_000, 2, "nested deeper than 64 levels"),
    "closed": (f'{{"schema":\n{"[" * 900}{"]" * 900}}}', 2, "nested deeper than 64 levels"),
    "digits": (f'{{"schema":\n{"9" * 5_001}}}', 2, "a number of 5,001 digits"),
    "constant": ('{"schema": NaN}', 1, "NaN is not JSON"),
}
GENERATE = ("generate", "--targets", "gfx942:304", "--tuning", "t", "--out", "o")


@pytest.fixture
def compiler(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    """A toolchain in whose place a script runs, and a cache of the test's own."""
    fake = FakeCompiler(tiny / "tools")
    monkeypatch.setenv("CKGEN_CACHE", str(tiny / "cache"))
    monkeypatch.setattr("ckgen.build.amd.toolchain.load", lambda prefix=None: fake.toolchain())
    return fake


def says(words: tuple[str, ...], code: str, file: str, line: int, message: str) -> None:
    """The command ends with exit 3 and one error, there."""
    result = run(*words)
    assert result.exit_code == 3, result.output
    (error,) = (line for line in result.stderr.splitlines() if line.startswith("error["))
    assert error.startswith(f"error[{code}] {file}{f':{line}' if line else ''}: ") and message in error


@pytest.mark.parametrize("bomb", YAML)
@pytest.mark.parametrize(
    "words",
    [
        (*GENERATE, "--kernel-set"),
        (*GENERATE, "--profile"),
        ("build", "--targets", "gfx942", "--tuning", "t", "--kernel-set"),
        ("list", "instances", "--targets", "gfx942:304", "--tuning", "t", "--profile"),
        ("amd-check", "--kernel-set"),
        ("emulate", "--kernel", "k", "--code-object", "k.co", "--args"),
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
@pytest.mark.usefixtures("compiler")
def test_yaml(tiny: Path, words: tuple[str, ...], bomb: str) -> None:
    text, line, message = YAML[bomb]
    (tiny / "bomb.yaml").write_text(text, encoding="utf-8")
    code = "E001" if words[0] == "emulate" and not line else "K001"
    says((*words, "bomb.yaml"), code, "bomb.yaml", line, message)


@pytest.mark.parametrize("bomb", JSON)
@pytest.mark.parametrize(
    ("words", "file", "code"),
    [
        (("generate", "--out", "o", "--registry", "bomb.json"), "bomb.json", "R001"),
        (GENERATE, "o/manifest.json", "G001"),
    ],
    ids=["--registry", "manifest"],
)  # fmt: skip
def test_json(tiny: Path, words: tuple[str, ...], file: str, code: str, bomb: str) -> None:
    text, line, message = JSON[bomb]
    (tiny / file).parent.mkdir(exist_ok=True)
    (tiny / file).write_text(text, encoding="utf-8")
    says(words, code, file, line, message)


@pytest.mark.usefixtures("compiler")
def test_summaries(tiny: Path) -> None:
    check = ("amd-check", "--tuning", "t", "--journal", "j")
    assert run(*check).exit_code == 1  # what the script writes passes no gate
    for text, line, message in JSON.values():
        (tiny / "bomb.json").write_text(text, encoding="utf-8")
        says((*check, "--report-only", "--against", "bomb.json"), "B004", "bomb.json", line, message)


@pytest.mark.parametrize("bomb", JSON)
def test_arch_specs(tmp_path: Path, capsys: pytest.CaptureFixture[str], bomb: str) -> None:
    text, line, message = JSON[bomb]
    (tmp_path / "gfx.json").write_text(text, encoding="utf-8")
    assert check_specs([str(tmp_path)]) == 3
    error = capsys.readouterr().err
    assert error.startswith(f"error[A001] {tmp_path}/gfx.json{f':{line}' if line else ''}: ") and message in error


@pytest.mark.parametrize(
    "words",
    [(*GENERATE, "--kernel-set"), (*GENERATE, "--profile"), ("generate", "--out", "o", "--registry")],
    ids=lambda words: words[-1],
)
def test_what_never_ends_is_read_up_to_its_bound(tiny: Path, words: tuple[str, ...]) -> None:
    result = run(*words, "/dev/zero")
    assert result.exit_code == 3 and "] /dev/zero: cannot read: larger than " in result.stderr


PRODUCT = """\
op: gemm
name: mine
signatures: [fp16]
backend: ck_tile
targets: [gfx942]
configs:
  tile: [128x128x64]
  warps: [2x2x1]
  warp_tile: [32x32x16]
  pipeline: [compv3]
"""
LONG = f"[{', '.join(['true'] * 500)}]"
ATTENTION = f"op: fmha\nname: mine\nsignatures: {{types: bf16, masked: {LONG}, lse: {LONG}}}\nbackend: ck_tile\n"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"{PRODUCT}  pad_m: {LONG}\n  pad_n: {LONG}\n  pad_k: {LONG}\n", "125,000,000"),
        (f"{PRODUCT.replace('[fp16]', str(['fp16'] * 300))}  pad_m: {LONG}\n", "50,001"),
        (f"{ATTENTION}targets: [gfx942]\nkernels: tree\n", "250,000"),
    ],
)
def test_lists_that_multiply_out_without_end_are_refused(tiny: Path, text: str, count: str) -> None:
    (tiny / "bomb.yaml").write_text(text, encoding="utf-8")
    result = run(*GENERATE, "--kernel-set", "bomb.yaml")
    assert result.exit_code == 3 and "K005] bomb.yaml:" in result.stderr, result.stderr
    assert f"{count} combinations are asked for" in result.stderr


def test_a_tables_cells_cannot_steer_the_terminal(tiny: Path) -> None:
    table = tiny / "t" / "a8w8_blockscale.csv"
    table.write_text(table.read_text().replace("ck,3", "\x1b]0;owned\x07\x1b[31m,3", 1))
    result = run("validate", "t")
    assert "\\x1b]0;owned\\x07\\x1b[31m" in result.output
    assert "\x1b" not in result.output and "\x07" not in result.output
