"""`ckgen build` and `ckgen amd-check` as commands: what they select, print and return. The compiler is a fake one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import LARGE, SMALL, row, table, write

from ckgen import paths
from commands import ok, run
from elf_writer import code_object
from fake_compiler import FakeCompiler

BUILD = ("build", "--targets", "gfx942", "--tuning", "t", "--backend", "ck", "--signatures", "*_bf16_*")
ABSENT = "a8w8_blockscale_cktile"
"""Fits no kernel."""


@pytest.fixture
def compiler(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    """A toolchain in whose place a script runs, and a cache of the test's own."""
    fake = FakeCompiler(tiny / "tools")
    fake.linked.write_bytes(code_object())
    monkeypatch.setenv("CKGEN_CACHE", str(tiny / "cache"))
    monkeypatch.setattr("ckgen.build.amd.toolchain.load", lambda prefix=None: fake.toolchain())
    return fake


def names(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(entry["table_name"], entry["arch"]) for entry in entries]


def test_a_kernel_without_what_it_was_compiled_for_fails_the_gate(compiler: FakeCompiler) -> None:
    result = run(*BUILD, "--kernels", SMALL, "--emit", "asm", "--json")
    assert result.exit_code == 1
    (entry,) = json.loads(result.stdout)
    assert (entry["table_name"], entry["arch"], entry["vgpr"]) == (SMALL, "gfx942", 300)
    assert {finding["rule"] for finding in entry["findings"]} >= {"missing_kernel", "unexpected_kernel"}
    assert "missing_kernel" in result.stderr and "1 kernel of 1 failed" in result.stderr


def test_a_failed_command_is_shown_whole_and_again(compiler: FakeCompiler) -> None:
    compiler.program.write_text("#!/bin/sh\necho 'x.hpp:1: error: no such thing' >&2\necho 'second line'\nexit 7\n")
    for cached in (False, True):
        result = run(*BUILD, "--kernels", SMALL, "--emit", "asm", "--json")
        assert result.exit_code == 1
        (entry,) = json.loads(result.stdout)
        assert entry["vgpr"] is None and entry["code_bytes"] is None
        (finding,) = entry["findings"]
        assert (finding["rule"], finding["reason"]) == ("compile", "x.hpp:1: error: no such thing")
        assert f"command: {compiler.program} " in result.stderr and "--offload-arch=gfx942" in result.stderr
        assert "x.hpp:1: error: no such thing" in result.stderr and "second line" in result.stderr
        assert ("kept from an earlier run" in result.stderr) is cached


def test_kernels_are_chosen_by_name_from_tables_and_search_spaces(compiler: FakeCompiler) -> None:
    tabled = json.loads(run(*BUILD, "--kernels", "a8w8_blockscale_*", "--emit", "asm", "--json").stdout)
    assert {SMALL, LARGE} <= {name for name, _ in names(tabled)} and {arch for _, arch in names(tabled)} == {"gfx942"}
    space = ("build", "--targets", "gfx942", "--tuning", "t", "--emit", "asm", "--json", "--limit", "2")
    searched = json.loads(run(*space, "--kernels", "gemm_fp16_rcr_ck_tile_compv4_*").stdout)
    assert len(searched) == 2 and all("_compv4_" in entry["kernel"] for entry in searched)
    assert [entry["kernel"] for entry in searched] == sorted(entry["kernel"] for entry in searched)


def test_a_limit_counts_kernels_and_takes_each_on_every_legal_target(compiler: FakeCompiler) -> None:
    both = ("build", "--targets", "gfx942;gfx950", "--tuning", "t", "--emit", "asm", "--json")
    dense = json.loads(run(*both, "--kernels", "gemm_fp16_rcr_ck_tile_*", "--limit", "1").stdout)
    assert [entry["arch"] for entry in dense] == ["gfx942", "gfx950"] and len({e["kernel"] for e in dense}) == 1
    flavoured = json.loads(run(*both, "--kernels", LARGE, "--limit", "9").stdout)
    assert {entry["arch"] for entry in flavoured if "fnuz" in entry["kernel"]} == {"gfx942"}


def test_what_is_emitted_lies_in_the_folder(compiler: FakeCompiler, tiny: Path) -> None:
    run(*BUILD, "--kernels", SMALL, "--emit", "object", "--out", "o")
    out = tiny / "o"
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    (name,) = {Path(file).stem for file in files if file.endswith(".hsaco")}
    assert files == {
        "compile_commands.json", "report.json", f"gfx942/{name}.hsaco", f"host/{name}.o",
        f"src/gfx942/{name}.hip", f"src/host/{name}.hip",
    }  # fmt: skip
    commands = json.loads((out / "compile_commands.json").read_text())
    assert [Path(command["file"]).is_file() for command in commands] == [True, True]
    assert all(command["file"] in command["arguments"] for command in commands)
    run(*BUILD, "--kernels", SMALL, "--emit", "asm", "--out", "a")
    assert (tiny / "a" / "gfx942" / f"{name}.s").is_file() and not (tiny / "a" / "host").exists()


def test_a_second_build_runs_nothing_and_touches_nothing(compiler: FakeCompiler, tiny: Path) -> None:
    first = run(*BUILD, "--kernels", SMALL, "--json", "--out", "o")
    times = {path: path.stat().st_mtime_ns for path in (tiny / "o").rglob("*")}
    runs = len(compiler.runs)
    assert run(*BUILD, "--kernels", SMALL, "--json", "--out", "o").stdout == first.stdout
    assert len(compiler.runs) == runs
    assert {path: path.stat().st_mtime_ns for path in (tiny / "o").rglob("*")} == times


def shipped_row(tables: str, start: str, word: str) -> tuple[str, str, str]:
    """Header and first line of such a row in the shipped tables, and the kernel that it names; no default kernel."""
    defaults = (paths.package_dir() / "families/gemm/kernel_sets/default.yaml").read_text(encoding="utf-8")
    for path in sorted((paths.tuning_dir() / "aiter").rglob(tables)):
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        for line in lines:
            cells = line.split(",")
            kernel = next((cell for cell in cells if cell.startswith("a8w8_")), "")
            if line.startswith(start) and word in cells and kernel not in defaults:
                return header, line, kernel
    raise AssertionError(f"no row {start}… with {word} in {tables}")


def test_a_kernel_that_tables_name_on_one_arch_is_built_on_both_where_it_is_legal(
    compiler: FakeCompiler, tiny: Path
) -> None:
    header, line, kernel = shipped_row("a8w8_tuned_gemm.csv", "gfx942", "torch.int8")
    write(tiny, {"u/a8w8.csv": f"{header}\n{line}\n"})
    asked = (
        "build",
        "--targets",
        "gfx942;gfx950",
        "--tuning",
        "u",
        "--signatures",
        "gemm_int8_bf16_rcr_rowwise",
        "--emit",
        "asm",
    )
    chosen = json.loads(run(*asked, "--kernels", kernel, "--json").stdout)
    assert names(chosen) == [(kernel, "gfx942"), (kernel, "gfx950")]
    whole = json.loads(run(*asked, "--json").stdout)
    assert [arch for name, arch in names(whole) if name == kernel] == ["gfx942"]


def test_what_the_tree_cannot_make_is_said_and_is_no_failure(compiler: FakeCompiler, tiny: Path) -> None:
    header, line, built = shipped_row("*blockscale_tuned*.csv", "gfx950", "cktile")
    kernel = built.replace("_0x1x0_", "_0x0x0_")  # C not transposed
    write(tiny, {"u/a8w8_blockscale.csv": f"{header}\n{line.replace(built, kernel)}\n"})
    asked = ("build", "--targets", "gfx950", "--tuning", "u", "--signatures", "*_bf16_*", "--kernels", kernel, "--json")
    (entry,) = json.loads(ok(*asked))
    assert entry["table_name"] == kernel and entry["opcodes"] is None
    assert [(f["rule"], f["severity"]) for f in entry["findings"]] == [("unavailable", "note")]
    assert compiler.runs == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--kernels", ABSENT), "no GPU kernel is asked for"),
        (("--backend", "host"), "only asm, ck, ck_tile, hip are built here"),
        (("--compiler-launcher", "no-such-program"), "no program 'no-such-program'"),
        (("--limit", "0"), "--limit"),
        (("--targets", "gfx000"), "gfx000"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(compiler: FakeCompiler, arguments: tuple[str, ...], said: str) -> None:
    result = run("build", "--targets", "gfx942", "--tuning", "t", *arguments)
    assert result.exit_code == 2 and said in result.stderr and result.stdout == ""


def test_without_a_toolchain_it_says_how_to_get_one(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CKGEN_CACHE", str(tiny / "cache"))
    monkeypatch.delenv("CKGEN_AMD_PREFIX", raising=False)
    result = run(*BUILD, "--json")
    assert result.exit_code == 3 and json.loads(result.stdout)["diagnostics"][0]["code"] == "X001"
    assert "ckgen toolchain amd" in result.stderr


def test_a_check_reports_what_the_journal_says(compiler: FakeCompiler, tiny: Path) -> None:
    asked = ("amd-check", "--tuning", "t", "--full", "--journal", "j.jsonl")
    result = run(*asked, "--out", "report", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["totals"]["named"] == 3 and document["totals"]["names"] == 2
    assert document["totals"]["compiled"] == 3 and document["totals"]["gated"] == 0
    assert json.loads((tiny / "report/summary.json").read_text()) == document
    assert "not verified on hardware" in (tiny / "report/summary.html").read_text()
    runs = len(compiler.runs)
    again = as_json_of(run("amd-check", "--tuning", "t", "--report-only", "--journal", "j.jsonl", "--json"))
    assert again == document and len(compiler.runs) == runs


def test_a_check_says_what_changed_since_a_baseline(compiler: FakeCompiler, tiny: Path) -> None:
    check = ("amd-check", "--tuning", "t", "--full", "--journal", "j.jsonl")
    run(*check, "--out", "report")
    again = (*check, "--report-only", "--against")
    kept = tiny / "report/baseline.json"
    assert run(*again, "report/baseline.json").stderr.splitlines()[1] == "0 facts changed since report/baseline.json"
    kept.write_text(kept.read_text().replace('"vgpr": 300', '"vgpr": 299', 1))
    changed, count = run(*again, "report/baseline.json").stderr.splitlines()[1:3]
    assert changed.startswith("changed: ") and changed.endswith(": vgpr was 299, is 300")
    assert count == "1 fact changed since report/baseline.json"
    refused = run(*again, "report/summary.json")
    assert refused.exit_code == 2
    assert "--against report/summary.json: not a baseline, which `ckgen amd-check --out` writes" in refused.stderr


def test_a_name_that_is_none_is_refused_before_anything_is_compiled(compiler: FakeCompiler, tiny: Path) -> None:
    result = run("build", "--targets", "gfx942", "--limit", "1", "--emit", "library", "--name", "unix", "--out", "o")
    assert result.exit_code == 2 and "--name: not usable as a C++ identifier: 'unix'" in result.stderr
    assert not compiler.runs and not (tiny / "o").exists()


def test_a_report_of_nothing_is_a_usage_error(compiler: FakeCompiler) -> None:
    result = run("amd-check", "--report-only", "--journal", "none.jsonl")
    assert result.exit_code == 2 and "nothing is recorded" in result.stderr


def as_json_of(result: Any) -> Any:
    return json.loads(result.stdout)


def test_without_full_one_kernel_of_each_kind_is_checked(compiler: FakeCompiler, tiny: Path) -> None:
    write(tiny, {"t/a8w8_blockscale.csv": table(row(), row(m=32, kernel=LARGE), row(gfx="gfx950", cu=256))})
    document = as_json_of(run("amd-check", "--tuning", "t", "--journal", "j.jsonl", "--json"))
    assert [kernel["arch"] for kernel in document["kernels"]] == ["gfx942", "gfx950"]
