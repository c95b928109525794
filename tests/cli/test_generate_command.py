"""`ckgen generate`: what is written, what is only said, and what forbids to write."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cli_support import LARGE, REPOSITORY, SMALL, row, table, tree, write

from ckgen.emit.leftovers import staging_of
from commands import as_json, ok, run, spawn

GENERATE = ("generate", "--targets", "gfx942", "--tuning", "t")


def test_a_second_run_touches_nothing(tiny: Path) -> None:
    first = ok(*GENERATE)
    assert "  gfx942:304  2 rows selected\n" in first
    before = tree(tiny / "ckgen_generated")
    assert "up to date" in ok(*GENERATE)
    assert tree(tiny / "ckgen_generated") == before


def test_only_rows_of_requested_targets_count(tiny: Path) -> None:
    document = as_json("generate", "--targets", "gfx942:80, gfx950;gfx942:80", "--tuning", "t")
    assert document["targets"] == ["gfx942:80", "gfx950:256"]
    assert document["selected"] == {"gfx942:80": 1, "gfx950:256": 1}
    assert document["fates"] == {"other_target": 4, "selected": 2, "shape_list": 2}
    assert document["status"] == "written" and sum(document["fates"].values()) == document["rows"] == 8


def test_targets_come_from_the_environment(tiny: Path) -> None:
    both = {"CKGEN_TARGETS": "gfx950", "GPU_ARCHS": "gfx942"}
    assert "  gfx950:256" in ok("generate", "--tuning", "t", env=both)
    assert "  gfx942:304" in ok("generate", "--tuning", "t", env={"GPU_ARCHS": "gfx942"})
    assert "  gfx942:80 " in ok("generate", "--tuning", "t", "--targets", "gfx942:80", env=both)


def test_an_unknown_cu_count_is_built_and_said(tiny: Path) -> None:
    result = run("generate", "--targets", "gfx942:64", "--tuning", "t")
    assert result.exit_code == 0
    assert "note: gfx942:64: no known product reports 64 CUs" in result.stderr
    assert "gfx942:64  0 rows selected" in result.stdout


def test_without_tuning_the_shipped_tables_are_read(tiny: Path) -> None:
    assert as_json("generate", "--targets", "gfx942:80", "--dry-run")["selected"] == {"gfx942:80": 2629}


def test_check_shows_the_drift_and_the_line_that_mends_it(tiny: Path) -> None:
    write(tiny, {"more t/it's.csv": (tiny / "t/a8w8_blockscale.csv").read_text()})
    arguments = (
        "generate", "--targets", "gfx942", "--tuning", "more t/it's.csv", "--module", "a8w8_blockscale",
        "--out", "my out", "--name", "lib", "--assume-gfx", "256=gfx950", "--backend", "ck;host", "--kernels", "*",
        "--assume-dtype", "torch.int8", "--signatures", "gemm_fp8*", "--m-policy", "aiter", "--strict-layers",
    )  # fmt: skip
    ok(*arguments)
    clean = ok(*arguments, "--check")
    assert "up to date" in clean
    policy = tiny / "my out" / "policy.hpp"
    policy.write_text("// edited\n", encoding="utf-8")
    result = run(*arguments, "--check")
    assert result.exit_code == 1
    assert "--- a/policy.hpp\n+++ b/policy.hpp\n" in result.stdout and "-// edited\n" in result.stdout
    assert policy.read_text(encoding="utf-8") == "// edited\n"
    program, *mend = shlex.split(result.stdout.splitlines()[-1])
    assert program == "ckgen" and mend[mend.index("--assume-dtype") + 1] == "torch.int8"
    ok(*mend)
    ok(*arguments, "--check")


def test_check_of_a_tree_that_is_not_there(tiny: Path) -> None:
    result = run(*GENERATE, "--check", "--out", "new")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == (
        "ckgen generate --targets gfx942:304 --ops 'fmha;gemm;grouped_gemm;moe;stream_k' --tuning t --out new"
    )
    assert not (tiny / "new").exists()


def test_a_file_that_went_away_or_came_is_drift(tiny: Path) -> None:
    ok(*GENERATE)
    (tiny / "ckgen_generated" / "policy.hpp").unlink()
    document = as_json(*GENERATE, "--check", code=1)
    assert (document["status"], document["added"]) == ("drift", ["policy.hpp"])
    assert "--- /dev/null\n+++ b/policy.hpp\n" in document["diff"]
    assert document["command"].startswith("ckgen generate --targets gfx942:304 ")


def test_diff_and_dry_run_write_nothing_and_are_no_failure(tiny: Path) -> None:
    ok(*GENERATE)
    before = tree(tiny / "ckgen_generated")
    write(tiny, {"t/a8w8_blockscale.csv": table(row(m=48, kernel=LARGE))})
    diff = ok(*GENERATE, "--diff")
    assert "+++ b/gemm_fp8_fnuz_bf16_rcr_blockscale/lookup_gfx942_304.hpp\n" in diff and "ckgen generate" not in diff
    listed = ok(*GENERATE, "--dry-run").splitlines()
    assert "changed  ckgen_generated/manifest.json" in listed
    assert tree(tiny / "ckgen_generated") == before
    ok(*GENERATE)
    assert ok(*GENERATE, "--diff") == ""
    assert ok(*GENERATE, "--dry-run") == "ckgen_generated: up to date\n"


def test_a_table_that_goes_away_takes_its_files_along(tiny: Path) -> None:
    ok(*GENERATE)
    write(tiny, {"t/a8w8_blockscale.csv": table()})
    gone = "gemm_fp8_fnuz_bf16_rcr_blockscale/lookup_gfx942_304.hpp"
    assert gone in as_json(*GENERATE)["removed"]
    assert not (tiny / "ckgen_generated" / gone).exists()


def test_outputs_are_listed_before_and_after_they_exist(tiny: Path) -> None:
    before = ok(*GENERATE, "--out", "o", "--list-outputs")
    assert not (tiny / "o").exists()
    ok(*GENERATE, "--out", "o")
    assert ok(*GENERATE, "--out", "o", "--list-outputs") == before
    assert sorted(before.splitlines()) == sorted(f"o/{name}" for name in tree(tiny / "o"))
    assert as_json(*GENERATE, "--out", "o", "--list-outputs") == before.splitlines()


def test_the_depfile_names_tables_kernel_sets_and_the_generator(tiny: Path) -> None:
    kernels = REPOSITORY / "codegen/ckgen/families/gemm/kernel_sets/ci.yaml"
    write(tiny, {"my set.yaml": kernels.read_text(encoding="utf-8")})
    ok(*GENERATE, "--kernel-set", "my set.yaml", "--depfile", "b/x.d", "--stamp", "b/x.stamp")
    rule, *inputs = (tiny / "b/x.d").read_text(encoding="utf-8").split(" \\\n  ")
    assert rule == "b/x.stamp:"
    named = {line.strip().replace("\\ ", " ") for line in inputs}
    assert {str(tiny / "t/a8w8_blockscale.csv"), str(tiny / "my set.yaml")} < named
    assert str(REPOSITORY / "codegen/ckgen/cli/generate.py") in named
    assert all(Path(name).is_file() for name in named)
    stamp = tiny / "b/x.stamp"
    assert stamp.stat().st_mtime_ns >= (tiny / "b/x.d").stat().st_mtime_ns


def test_phases_are_timed_on_stderr(tiny: Path) -> None:
    result = run(*GENERATE, "--time-phases")
    assert [line.split()[0] for line in result.stderr.splitlines()][-1] == "total"
    assert "plan" in as_json(*GENERATE, "--time-phases", "--out", "o")["phases"]


def test_kernel_sets_filters_and_ops_decide_what_is_built(tiny: Path) -> None:
    everything = as_json(*GENERATE, "--dry-run")["instances"]
    only = as_json(*GENERATE, "--dry-run", "--backend", "ck_tile")["instances"]
    assert sum(only.values()) < sum(everything.values())
    signature = "gemm_fp8_fnuz_bf16_rcr_blockscale"
    assert set(as_json(*GENERATE, "--dry-run", "--signatures", signature)["instances"]) == {signature}
    named = as_json(*GENERATE, "--dry-run", "--kernels", LARGE)
    assert named["fates"]["left_out"] == named["fates"]["selected"] == 1
    plain = as_json(*GENERATE, "--ops", "gemm", "--dry-run")["instances"]
    assert sum(plain.values()) < sum(everything.values())
    assert as_json(*GENERATE, "--ops", "gemm, gemm;gemm", "--dry-run")["instances"] == plain
    others = [
        as_json(*GENERATE, "--ops", ops, "--dry-run")["instances"]
        for ops in ("stream_k;gemm", "moe;grouped_gemm", "fmha")
    ]
    assert {**others[0], **others[1], **others[2]} == everything
    assert sum(map(len, others)) == len(everything)


def test_errors_are_all_shown_and_nothing_is_written(tiny: Path, golden: Callable[[str, str], None]) -> None:
    write(tiny, {
        "t/a8w8_blockscale.csv": table(row(kernel="nonsense"), row(m="x"), row(m=1), row(m=1, kernel=LARGE)),
        "t/sub/a8w8_blockscale.csv": b"\x00\x01binary",
    })  # fmt: skip
    result = run(*GENERATE, "--out", "never")
    assert result.exit_code == 3 and result.stdout == ""
    assert not (tiny / "never").exists()
    golden("cli/generate_errors.txt", result.stderr)
    document = as_json(*GENERATE, "--out", "never", code=3)
    assert sorted(d["code"] for d in document["diagnostics"]) == ["T001", "T005", "T007", "T012"]


def test_a_check_passes_where_a_table_changed_and_nothing_generated_did(tiny: Path) -> None:
    ok(*GENERATE)
    before = tree(tiny / "ckgen_generated")
    file = tiny / "t/a8w8_blockscale.csv"
    text = file.read_text(encoding="utf-8")
    assert "nothing generated" not in run(*GENERATE, "--check").stderr
    file.write_text(text.replace(",4.5,", ",5.5,"), encoding="utf-8")
    assert file.read_text(encoding="utf-8") != text
    passed = run(*GENERATE, "--check")
    assert passed.exit_code == 0 and "ckgen_generated: up to date; " in passed.stdout
    note = "note: tuning/0/a8w8_blockscale.csv changed since ckgen_generated was written, nothing generated did\n"
    assert passed.stderr.endswith(note)
    document = as_json(*GENERATE, "--check")
    assert (document["status"], document["manifest"]) == ("up_to_date", "stale")
    assert document["changed_inputs"] == ["tuning/0/a8w8_blockscale.csv"] and document["diff"] == ""
    strict = run(*GENERATE, "--check", "--strict")
    assert strict.exit_code == 1 and "1 file of ckgen_generated is out of date" in strict.stdout
    assert "+++ b/manifest.json\n" in strict.stdout and "changed since" not in strict.stderr
    assert as_json(*GENERATE, "--check", "--strict", code=1)["changed"] == ["manifest.json"]
    assert tree(tiny / "ckgen_generated") == before
    assert as_json(*GENERATE)["changed"] == ["manifest.json"]
    document = as_json(*GENERATE, "--check", "--strict")
    assert (document["status"], document["manifest"], document["changed_inputs"]) == ("up_to_date", "up_to_date", [])


def test_a_check_holds_all_but_the_manifest(tiny: Path) -> None:
    ok(*GENERATE)
    (tiny / "t/a8w8_blockscale.csv").write_text(table(row(m=48, kernel=LARGE)), encoding="utf-8")
    document = as_json(*GENERATE, "--check", code=1)
    assert document["changed"] == ["gemm_fp8_fnuz_bf16_rcr_blockscale/lookup_gfx942_304.hpp"]
    assert document["manifest"] == "stale" and document["changed_inputs"] == ["tuning/0/a8w8_blockscale.csv"]


def test_strict_refuses_rows_that_cannot_be_built(tiny: Path) -> None:
    impossible = LARGE.replace("256x16x64x256", "256x512x512x256")
    write(tiny, {"t/a8w8_blockscale.csv": table(row(kernel=impossible))})
    lenient = run(*GENERATE)
    assert lenient.exit_code == 0 and "warning[P002]" in lenient.stderr
    strict = run(*GENERATE, "--strict")
    assert strict.exit_code == 3 and "error[P002] t/a8w8_blockscale.csv:2" in strict.stderr


def test_rows_that_a_filter_leaves_out_are_counted_and_listed_where_asked_for(tiny: Path) -> None:
    filtered = (*GENERATE, "--kernels", "*256x16x64x256*")
    result = run(*filtered)
    assert result.exit_code == 0 and "left_out" not in result.stderr
    assert "  left out of --kernels: 1 row\n" in result.stdout
    listed = run(*filtered, "--verbose").stderr
    place = "t/a8w8_blockscale.csv:2: left_out(no --kernels glob fits)"
    assert f"{place}\n  gfx942:304 a8w8_blockscale M=16 N=512 K=7168: ck {SMALL}\n" in listed
    assert listed.count("left_out(") == 1


def test_a_filter_that_fits_nothing_writes_nothing(tiny: Path) -> None:
    result = run(*GENERATE, "--signatures", "nonsense*")
    assert result.exit_code == 2 and "error: --signatures 'nonsense*' fits none of " in result.stderr
    assert not (tiny / "ckgen_generated").exists()


def test_a_run_that_finds_nothing_new_removes_what_a_killed_one_left(tiny: Path) -> None:
    ok(*GENERATE)
    left = staging_of(tiny / "ckgen_generated")
    left.mkdir()
    ok(*GENERATE, "--check")
    assert left.is_dir()
    assert "up to date" in ok(*GENERATE) and not left.exists()


def test_strict_layers_refuses_overrides(tiny: Path) -> None:
    layers = ("--tuning", "t", "--strict-layers")
    result = run(*GENERATE, *layers)
    assert result.exit_code == 3 and "error[P001] t/a8w8_blockscale.csv:2" in result.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--targets", "gfx9421"), "unknown arch 'gfx9421', did you mean 'gfx942'?"),
        (("--targets", " ; "), "names no target"),
        ((), "give --targets or set CKGEN_TARGETS or GPU_ARCHS"),
        (("--targets", "gfx942", "--ops", "gemm;fmhaa"), "unknown op: fmhaa"),
        (("--targets", "gfx942", "--ops", ""), "names no op"),
        (("--targets", "gfx942", "--backend", "cuda"), "unknown backend: cuda"),
        (("--targets", "gfx942", "--module", "nope"), "unknown module 'nope'"),
        (("--targets", "gfx942", "--tuning", "missing"), "no such file or directory: missing"),
        (("--targets", "gfx942", "--tuning", ""), "a path is expected, got an empty word"),
        (("--targets", "gfx942", "--kernels", ""), "a glob is expected, got an empty word"),
        (("--targets", "gfx942", "--signatures", ""), "a glob is expected, got an empty word"),
        (("--targets", "gfx942", "--out", ""), "a path is expected, got an empty word"),
        (("--targets", "gfx942", "--out", "."), "--out . is or holds the working directory"),
        (("--targets", "gfx942", "--out", ".."), "--out .. is or holds the working directory"),
        (("--targets", "gfx942", "--tuning", "empty"), "no *.csv beneath empty"),
        (("--targets", "gfx942", "--assume-gfx", "256"), "--assume-gfx takes CU=GFX"),
        (("--targets", "gfx942", "--assume-gfx", "256=gfx1"), "unknown arch 'gfx1'"),
        (
            ("--targets", "gfx942", "--assume-dtype", "int8"),
            "--assume-dtype takes a type as tables spell it; got 'int8'",
        ),
        (("--targets", "gfx942", "--name", "not a name"), "--name: not usable as a C++ identifier"),
        (
            ("--targets", "gfx942", "--name", "class"),
            "--name: not usable as a C++ identifier: 'class' (a keyword of C++)",
        ),
        (("--targets", "gfx942", "--name", "xor"), "'xor' (a keyword of C++)"),
        (("--targets", "gfx942", "--name", "linux"), "'linux' (a macro that compilers predefine)"),
        (("--targets", "gfx942", "--name", "errno"), "'errno' (a macro of the C library)"),
        (
            ("--targets", "gfx942", "--name", "time"),
            "--name: not usable as a C++ identifier: 'time' (a name of the C library)",
        ),
        (("--targets", "gfx942", "--name", "posix"), "'posix' (a name that the C++ standard keeps)"),
        (("--targets", "gfx942", "--name", "_kernels"), "'_kernels' (an underscore in front, or two together"),
        (
            ("--targets", "gfx942", "--name", "test"),
            "--name: not usable as a CMake target: 'test' (a target of CMake's own); test_kernels would do",
        ),
        (("--targets", "gfx942", "--name", "ckgen_headers"), "'ckgen_headers' (a target of ckgen's own)"),
        (("--targets", "gfx942", "--m-policy", "best"), "'best' is not one of"),
        (("--targets", "gfx942", "--check", "--diff"), "exclude each other"),
        (("--targets", "gfx942", "--check", "--stamp", "s"), "need a run that writes"),
    ],
)
def test_wrong_usage_is_exit_2(tiny: Path, arguments: tuple[str, ...], said: str) -> None:
    (tiny / "empty").mkdir()
    result = run("generate", "--out", "o", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr and result.stdout == ""
    assert not (tiny / "o").exists()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--out", "plain/x"), "plain"),
        (("--out", "plain"), "plain"),
        (("--kernel-set", "t"), "error[K001] t"),
        (("--kernel-set", "missing.yaml"), "error[K001] missing.yaml"),
        (("--kernel-set", "deep.yaml"), "deep"),
        (("--depfile", "plain/x.d"), "plain"),
        (("--stamp", "plain/x"), "plain"),
        (("--stamp", "t"), ""),
    ],
)
def test_what_cannot_be_read_or_written_is_exit_3(tiny: Path, arguments: tuple[str, ...], said: str) -> None:
    write(tiny, {"plain": "", "deep.yaml": "[" * 100_000})
    result = run(*GENERATE, *arguments)
    assert result.exit_code == (0 if arguments == ("--stamp", "t") else 3), result.output
    assert said in result.stderr and (result.stdout == "" or not said)
    assert (tiny / "plain").read_text() == ""


def test_a_file_that_ckgen_did_not_write_is_never_replaced(tiny: Path) -> None:
    write(tiny, {"ckgen_generated/policy.hpp": "mine"})
    result = run(*GENERATE)
    assert result.exit_code == 3 and "error[G002] ckgen_generated/policy.hpp" in result.stderr
    assert (tiny / "ckgen_generated/policy.hpp").read_text() == "mine"


def test_a_linked_folder_stays_a_link(tiny: Path) -> None:
    (tiny / "real").mkdir()
    (tiny / "link").symlink_to("real")
    ok(*GENERATE, "--out", "link")
    write(tiny, {"t/a8w8_blockscale.csv": table(row())})
    ok(*GENERATE, "--out", "link")
    assert (tiny / "link").is_symlink() and (tiny / "real/manifest.json").is_file()
    assert sorted(path.name for path in tiny.iterdir()) == ["link", "real", "t"]


def test_the_tree_is_the_same_from_any_folder_order_and_seed(tiny: Path) -> None:
    ok(*GENERATE, "--targets", "gfx950", "--out", "a")
    (tiny / "elsewhere").mkdir()
    arguments = ("generate", "--targets", "gfx950 gfx942", "--tuning", "../t", "--out", "../b")
    done = spawn(*arguments, cwd=tiny / "elsewhere", env={"PYTHONHASHSEED": "7"})
    assert done.returncode == 0, done.stderr
    a, b = tree(tiny / "a"), tree(tiny / "b")
    assert {name: data for name, (data, _) in a.items()} == {name: data for name, (data, _) in b.items()}
    assert json.loads(a["manifest.json"][0])["summary"]["rows"] == 8


def test_a_shipped_kernel_set_is_taken_by_its_name_and_stands_in_the_mending_line(tiny: Path) -> None:
    write(tiny, {"ci": "not: a set"})
    document = as_json(*GENERATE, "--kernel-set", "ci", "--check", code=1)
    assert "--kernel-set ci --out" in document["command"]
    assert document["instances"]["gemm_fp16_rcr"] > as_json(*GENERATE)["instances"]["gemm_fp16_rcr"]
    refused = run(*GENERATE, "--kernel-set", str(tiny / "ci"))
    assert refused.exit_code == 3 and "ci:1: unknown key 'not'" in refused.stderr


def test_the_working_directory_can_be_checked_but_not_replaced(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ok(*GENERATE, "--out", "o")
    monkeypatch.chdir("o")
    assert "up to date" in ok("generate", "--targets", "gfx942", "--tuning", "../t", "--out", ".", "--check")
    assert run("generate", "--targets", "gfx942", "--tuning", "../t", "--out", ".").exit_code == 2


def test_two_runs_into_one_folder_leave_one_of_the_two_trees(tiny: Path) -> None:
    write(tiny, {"u/a8w8_blockscale.csv": table(row(m=64))})
    for name in ("t", "u"):
        ok("generate", "--targets", "gfx942", "--tuning", name, "--out", f"only_{name}")
    expected = [_bytes(tiny / f"only_{name}") for name in ("t", "u")]
    with ThreadPoolExecutor() as pool:
        runs = [
            pool.submit(spawn, "generate", "--targets", "gfx942", "--tuning", name, "--out", "both", cwd=tiny)
            for name in ("t", "u", "t", "u")
        ]
    assert [(done.result().returncode, done.result().stderr.count("rror")) for done in runs] == [(0, 0)] * 4
    assert _bytes(tiny / "both") in expected


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path: data for path, (data, _) in tree(folder).items()}
