"""`ckgen tune` with a measurer whose times are known: what it writes, says, refuses, and ends with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_support import write
from tune_support import BLOCKS, CPU, SHAPES, TUNE, OfSignature, here, rows

from ckgen.measure.conditions import Conditions
from ckgen.measure.model import MeasureStatus
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import Groups, GroupSize, Routing
from ckgen.model.target import Target
from ckgen.runtime import Options, ProblemStruct, RuntimeLibrary
from ckgen.specs.native import own_cpu
from ckgen.tune.device import conditions_on
from ckgen.tune.journal import read_journals
from commands import as_json, ok, run
from runtime_build import load_own

SHAPE = FmhaShape(batch=2, heads_q=8, heads_k=2, seqlen_q=64, seqlen_k=96, hdim_q=64, hdim_v=64)
ATTENTION = "batch=2 heads_q=8 heads_k=2 seqlen_q=64 seqlen_k=96 hdim_q=64 hdim_v=64 mask=b:-1;0"


def test_a_table_is_written_that_validates_and_answers_exactly(fake: OfSignature) -> None:
    text = ok(*TUNE, "--date", "2026-11-23")
    assert "t.csv: 4 rows of" in text
    found = rows()
    assert [one["M"] for one in found] == ["1", "64", "64", "16"]
    assert {one["date"] for one in found} == {"2026-11-23"}
    assert {(one["device"], one["tool"]) for one in found} == {("a fake CPU", "ckgen 0.1.0")}
    assert {(one["gfx"], one["cu_num"]) for one in found} == {(CPU.gfx, str(CPU.cu_num))}
    validated = as_json("validate", "t.csv")["files"][0]
    assert validated["fates"] == {"selected": 4}
    asked = ("--target", str(CPU), "--signature", "gemm_bf16_rcr", "--shape", "64,128,256", "--tuning", "t.csv")
    document = as_json("lookup", "gemm", *asked)
    assert (document["tier"], document["instance"]) == ("exact", found[1]["kernelName"])


@pytest.mark.cpp
def test_what_a_program_missed_is_tuned_from_its_folder_or_merged(fake: OfSignature, tmp_path: Path) -> None:
    library = load_own(tmp_path)
    for again in range(2):  # a list each
        dispatcher = library.dispatcher([], Options(record=str(tmp_path / "records")))
        for problem in misses(library):
            dispatcher.select(problem, library.simulated(str(own_cpu())))
        assert (dispatcher.counters().recorded, len(list((tmp_path / "records").iterdir()))) == (4, again + 1)
        del dispatcher
    ok("record", "merge", "records", "--out", "missed.csv")
    found = {}
    for path in ("records", "missed.csv"):
        document = as_json("tune", "all", "--missing", path, "--out", f"{path}.t.csv")
        found[path] = sorted(one["problem"] for one in document["problems"])
        told = [(one["signature"], one["M"], one["experts"], one["sizes"]) for one in rows(f"{path}.t.csv")]
        assert sorted(told) == [
            ("fmha_bf16_masked", "0", "0", ATTENTION),
            ("gemm_bf16_rcr", "64", "0", ""),
            ("grouped_gemm_bf16_rcr", "64", "0", "2*64x128x256"),
            ("moe_bf16_rcr_layer_gated_epi_silu", "16", "8", ""),
        ]
    assert found["records"] == found["missed.csv"]


def misses(library: RuntimeLibrary) -> list[ProblemStruct]:
    """A problem of each op."""
    routing, size = Routing(8, 2), GroupSize(64, 128, 256)
    return [
        library.problem("bf16", 64, 128, 256),
        library.problem("moe_bf16_rcr_layer_gated_epi_silu", 16, 128, 256, routing=routing),
        library.grouped_problem("grouped_gemm_bf16_rcr", Groups.of([size, size])),
        library.fmha_problem("fmha_bf16_masked", SHAPE),
    ]


def test_the_library_is_built_for_what_is_asked(fake: OfSignature) -> None:
    ok(*TUNE)
    seen = fake.seen  # type: ignore[attr-defined]
    assert seen["ops"] == ("gemm", "moe", "stream_k")
    assert seen["signatures"] == ("gemm_bf16_rcr", "gemm_fp16_rcr", "moe_bf16_rcr_layer_gated_epi_silu")


@pytest.mark.parametrize(
    ("op", "count"),
    [("gemm", 3), ("stream_k", 3), ("moe", 1), ("gemm,moe", 4), ("bf16", 2), ("module_moe_ck2stages_tune", 1)],
)
def test_only_what_is_named_is_tuned(fake: OfSignature, op: str, count: int) -> None:
    assert len(as_json("tune", op, *TUNE[2:])["problems"]) == count


def test_aiters_names_of_modules_are_taken(fake: OfSignature, tmp_path: Path) -> None:
    shape = "gemm_fp8_ocp_bf16_rcr_blockscale,0,16,512,1024,0,0,1\n"
    write(tmp_path, {"shapes.csv": SHAPES + shape})
    for name in ("module_gemm_a8w8_blockscale_tune", "a8w8_blockscale"):
        document = as_json("tune", name, *TUNE[2:], "--journal", f"{name}.jsonl")
        assert [one["problem"] for one in document["problems"]] == [
            "gemm_fp8_ocp_bf16_rcr_blockscale M=16 N=512 K=1024"
        ]


def test_modules_are_named_by_aiters_variable_too(fake: OfSignature, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRETUNE_MODULES", "module_gemm_a8w8_tune,moe")
    document = as_json("tune", *TUNE[2:])
    assert [one["problem"].split()[0] for one in document["problems"]] == ["moe_bf16_rcr_layer_gated_epi_silu"]
    assert len(as_json(*TUNE, "--resume")["problems"]) == 4, "what the command names goes before it"
    monkeypatch.delenv("PRETUNE_MODULES")
    assert "Missing argument 'OP'" in run("tune", *TUNE[2:]).stderr


def test_several_gpus_tune_as_one_does(fake: OfSignature, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As if this CPU were three."""
    ok(*TUNE)
    built: list[object] = []
    monkeypatch.setattr("ckgen.measure.local.library_of", lambda *what: built.append(what))
    monkeypatch.setattr("ckgen.tune.asked.CPU_LEVELS", ())
    monkeypatch.setattr("ckgen.tune.asked.gpu_count", lambda: 3)
    words = ("tune", "all", "--shapes", "shapes.csv", "--target", str(CPU))
    ok(*words, "--out", "several.csv", "--devices", "2,0")
    found, alone = rows("several.csv"), rows()
    told = {
        one.pop("conditions").removeprefix(other.pop("conditions")) for one, other in zip(found, alone, strict=True)
    }
    assert len(built) == 1 and found == alone and told <= {" gpu=0", " gpu=2"}
    ok(*words, "--out", "one.csv", "--devices", "1")
    assert fake.seen["gpu"] == 1  # type: ignore[attr-defined]
    assert "some of the 3 GPUs from 0 on that are here" in run(*words, "--out", "n.csv", "--devices", "1,3").stderr
    many = run(*words, "--out", "n.csv", "--devices", "all", "--scheduler", "local")
    assert many.exit_code == 2 and "of a cluster give each device a worker of its own" in many.stderr


def test_a_wrong_candidate_is_said_and_the_exit_code_says_so(fake: OfSignature) -> None:
    fake.ends = {"gemm_bf16_rcr_host_4x16_64x512x512_t0": MeasureStatus.OUT_OF_BOUNDS}
    result = run(*TUNE)
    assert result.exit_code == 1
    assert "OUT_OF_BOUNDS gemm_bf16_rcr_host_4x16_64x512x512_t0 at gemm_bf16_rcr M=1 N=128 K=256:" in result.stdout
    assert len(rows()) == 4


def test_a_journal_is_gone_on_with_only_where_that_is_asked(fake: OfSignature) -> None:
    first = as_json(*TUNE)
    result = run(*TUNE)
    assert result.exit_code == 2
    assert "t.csv.journal.jsonl is there: go on with it by --resume" in result.stderr
    again = as_json(*TUNE, "--resume")
    assert (again["measured"], again["known"]) == (0, first["measured"])
    assert again["problems"] == first["problems"]


def test_what_is_hot_or_cold_is_asked_said_in_each_row_and_not_mixed(fake: OfSignature) -> None:
    ok(*TUNE)
    assert fake.seen["conditions"] == Conditions()  # type: ignore[attr-defined]
    assert {one["conditions"] for one in rows()} == {"warmup=50 rotating=3 flush=False tolerance=None graph=False"}
    fake.conditions = Conditions(flush=True)
    mixed = run(*TUNE, "--resume", "--flush")
    assert (mixed.exit_code, fake.seen["conditions"]) == (2, fake.conditions)  # type: ignore[attr-defined]
    assert "times of this library under 'warmup=50 rotating=3 flush=False tolerance=None graph=False'" in mixed.stderr
    fake.conditions = Conditions(rotating=3)
    ok(*TUNE, "--resume")  # what was refused has left nothing in the journal
    fake.conditions = Conditions(flush=True)
    ok(*TUNE, "--flush", "--journal", "cold.jsonl")
    assert {one["conditions"] for one in rows()} == {"warmup=50 rotating=0 flush=True tolerance=None graph=False"}
    fake.conditions = Conditions(graph=True)
    assert run(*TUNE, "--resume", "--graph", "--journal", "cold.jsonl").exit_code == 2
    ok(*TUNE, "--graph", "--journal", "graph.jsonl")
    assert fake.seen["conditions"] == fake.conditions  # type: ignore[attr-defined]
    assert {one["conditions"] for one in rows()} == {"warmup=50 rotating=0 flush=False tolerance=None graph=True"}
    gpu = Target("sm_90a", 132)
    assert [conditions_on(gpu).flush, conditions_on(gpu, 1).flush, conditions_on(gpu, flush=False).flush] == [
        True, False, False,
    ]  # fmt: skip


def test_a_torn_journal_is_said(fake: OfSignature) -> None:
    ok(*TUNE)
    journal = Path("t.csv.journal.jsonl")
    journal.write_bytes(journal.read_bytes()[:-5])
    result = run(*TUNE, "--resume", "--json")
    assert "the last line is torn" in result.stderr
    assert json.loads(result.stdout)["measured"] == 1


def test_shards_write_one_table_together(fake: OfSignature) -> None:
    whole = as_json(*TUNE)
    expected = Path("t.csv").read_bytes()
    Path("t.csv").unlink()
    for part in (1, 2):
        ok(*TUNE, "--shard", f"{part}/2", "--journal", f"part{part}.jsonl")
    assert Path("t.csv").read_bytes() == expected
    Path("t.csv").unlink()
    journals = ("--journal", "all.jsonl", "--journal", "part1.jsonl", "--journal", "part2.jsonl")
    joined = as_json(*TUNE, *journals)
    assert (joined["measured"], joined["known"]) == (0, whole["measured"])
    assert Path("t.csv").read_bytes() == expected


def test_a_shard_without_problems_says_so_and_does_nothing(fake: OfSignature) -> None:
    done = run(*TUNE, "--shard", "900/900")
    assert done.exit_code == 0
    assert "note: part 900/900 has no problem: there are fewer ladders of M than parts" in done.stderr
    assert not Path("t.csv").exists()


def test_all_shards_have_one_library(fake: OfSignature, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else their journals would not be of the same code."""
    seen: list[Any] = []
    monkeypatch.setattr("ckgen.measure.library.build_library", lambda contents, *more: seen.append(contents))
    monkeypatch.setattr("ckgen.measure.library.digest_of", lambda library: "c0de")
    for part in (1, 2):
        ok(*TUNE, "--build-only", "--shard", f"{part}/2")
    assert seen[0] == seen[1] and len(seen[0].signatures) == 3


def test_rows_that_gain_nothing_are_left_out_and_lose_an_older_row(fake: OfSignature) -> None:
    ok(*TUNE)
    fake.usual = "gemm_bf16_rcr_host_4x16_64x512x512_t0"
    fake.true = lambda _, one: 100.0
    document = as_json(*TUNE, "--journal", "second.jsonl")
    assert [one["row"] for one in document["problems"]] == [False, False, True, True]
    assert [one["signature"] for one in rows()] == ["gemm_fp16_rcr", "moe_bf16_rcr_layer_gated_epi_silu"]
    ok(*TUNE, "--journal", "third.jsonl", "--min-improvement", "0")
    assert len(rows()) == 4


def test_rows_of_another_target_stay(fake: OfSignature) -> None:
    ok(*TUNE)
    text = Path("t.csv").read_text()
    theirs = ', gfx942,304 ,gemm_bf16_rcr,0,64,128,256,0,0,,"x",1,4'
    Path("t.csv").write_text(text + theirs[2:] + "\n")
    ok(*TUNE, "--resume")
    assert theirs[2:] in Path("t.csv").read_text().splitlines()


def test_an_older_table_is_compared(fake: OfSignature) -> None:
    ok(*TUNE)
    Path("t.csv").rename("old.csv")
    same = as_json(*TUNE, "--resume", "--compare", "old.csv")["compared"]
    assert [one["flipped"] for one in same] == [False] * 4
    assert {one["ratio"] for one in same} == {1.0}
    fake.seed, fake.noise = 3, 2.0
    text = ok(*TUNE, "--journal", "other.jsonl", "--compare", "old.csv")
    assert "of 4 rows flipped" in text


def test_few_kernels_within_a_bound(fake: OfSignature) -> None:
    document = as_json(*TUNE, "--within", "100%")
    assert document["fewest"] is True
    kernels = {one["instance"] for one in document["problems"]}
    assert len(kernels) == 3, "one for each signature"


def test_a_spent_budget_is_said(fake: OfSignature) -> None:
    text = ok(*TUNE, "--budget", "0s")
    assert "4 problems without a row: the budget was spent" in text


def test_few_kernels_of_a_part_of_the_problems_are_said_to_be_so(
    fake: OfSignature, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A measurement lasts ten seconds."""
    monkeypatch.setattr("ckgen.tune.budget.time.monotonic", lambda: 10.0 * fake.calls)
    text = ok(*TUNE, "--budget", "5s", "--within", "20%", "--min-improvement", "0")
    assert "these kernels were chosen for 1 problem; 3 others may need further ones" in text
    assert "3 problems without a row: the budget was spent" in text
    assert len(rows()) == 1
    assert "may need further ones" not in ok(*TUNE, "--resume", "--within", "20%")


@pytest.mark.parametrize("where", [(), ("--scheduler", "local")])
def test_with_a_candidate_that_was_never_timed_no_choice_is_called_the_fewest(
    fake: OfSignature, monkeypatch: pytest.MonkeyPatch, where: tuple[str, ...]
) -> None:
    monkeypatch.setattr("ckgen.tune.remote.timed_on", here)
    fake.ends = {"gemm_bf16_rcr_host_1x16_1x512x1024_t0": MeasureStatus.LATE}
    assert as_json(*TUNE, *where, "--within", "100%")["fewest"] is False
    fake.ends = {}
    assert as_json(*TUNE, *where, "--within", "100%", "--resume")["fewest"] is True


def test_only_kernels_that_fit_a_glob(fake: OfSignature) -> None:
    document = as_json(*TUNE, "--kernels", "*_4x16_*", "--kernels", "*_6x16_48*")
    assert [one["tried"] for one in document["problems"]] == [2] * 4


def test_a_table_is_retuned_and_each_module_says_what_is_left_out(fake: OfSignature, tmp_path: Path) -> None:
    from cli_support import TINY

    write(tmp_path, dict(TINY))
    result = run("tune", "all", "--retune", "t", "--out", "t.csv", "--json")
    assert result.exit_code == 0, result.output
    retuned = json.loads(result.stdout)["retuned"]
    assert retuned["a8w8_blockscale"]["rows"] == 6
    assert retuned["a8w8_blockscale"]["problems"] == 2 * 5 + 2, "of each M for bf16 and fp16, gfx950's fp8 is another"
    assert "retune a8w8_blockscale: 6 rows, 12 problems" in result.stderr
    assert retuned["a8w8_blockscale"]["ended"] == {"row": 12}
    again = run("tune", "all", "--retune", "t", "--out", "t.csv", "--resume")
    assert "\nretuned a8w8_blockscale: 12 rows\n" in again.stdout
    few = run("tune", "all", "--retune", "t", "--out", "v.csv", "--budget", "0")
    assert "\nretuned a8w8_blockscale: 0 rows; 12 problems without: the budget was spent\n" in few.stdout
    other = run("tune", "bf16", "--retune", "t", "--out", "u.csv")
    assert "retune a8w8_blockscale: 6 rows, 0 problems; left out: 6 not what OP names\n" in other.stderr
    assert "there is nothing to tune" in other.stderr


def test_its_own_table_is_retuned_with_every_op(fake: OfSignature) -> None:
    ok(*TUNE)
    document = as_json("tune", "all", "--retune", "t.csv", "--out", "u.csv")
    assert [one["problem"] for one in document["problems"]] == [
        one["problem"] for one in as_json(*TUNE, "--resume")["problems"]
    ]


REFUSED = [
    (("--target", "gfx942"), "gfx942:304: no such GPU is there. Build here with --build-only --work DIR"),
    (("--target", "mi300x", "--retune", "all"), "the emulator counts instructions, which is no time"),
    (("--budget", "soon"), "--budget takes seconds"),
    (("--min-improvement", "x"), "--min-improvement takes per cent"),
    (("--within", "101%"), "--within takes per cent"),
    (("--shard", "3/2"), "--shard takes a part and their number"),
    (("--devices", "1"), "--devices 1: a CPU is one device"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_built(
    fake: OfSignature, words: tuple[str, ...], said: str
) -> None:
    result = run(*TUNE, *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert fake.calls == 0
    assert not Path("t.csv").exists()
    assert not Path("t.csv.journal.jsonl").exists()


def test_unknown_words_and_no_problems_are_usage_errors(fake: OfSignature) -> None:
    assert "unknown operation or module: 'gemn'" in run("tune", "gemn", *TUNE[2:]).stderr
    assert "give --shapes, --retune or --missing" in run("tune", "all", "--out", "t.csv").stderr
    assert run("tune", "all", *TUNE[2:], "--out", "shapes.csv").exit_code == 3


def test_wrong_lists_end_with_3(fake: OfSignature, tmp_path: Path) -> None:
    write(tmp_path, {"shapes.csv": "M,N\n1,2\n"})
    result = run(*TUNE)
    assert result.exit_code == 3
    assert "error[M005]" in result.stderr


def test_every_candidate_is_in_the_journal(fake: OfSignature) -> None:
    document = as_json(*TUNE)
    held = read_journals([Path("t.csv.journal.jsonl")])
    assert len(held.records) == document["measured"]
    assert [one.conditions for one in held.headers] == ["warmup=50 rotating=3 flush=False tolerance=None graph=False"]
    assert {one.measured.candidate.instance for one in held.records} == {
        f"{signature}_host_{blocks}_t0"
        for signature in ("gemm_bf16_rcr", "gemm_fp16_rcr", "moe_bf16_rcr_layer_gated_epi_silu")
        for blocks in BLOCKS
    }


def test_what_people_read(fake: OfSignature, golden: Callable[[str, str], None]) -> None:
    fake.ends = {"gemm_bf16_rcr_host_1x16_1x512x1024_t0": MeasureStatus.HUNG}
    fake.usual = "gemm_bf16_rcr_host_4x16_64x512x512_t0"
    result = run(*TUNE, "--target", "x86_64_v3:4", "--within", "20%", "--min-improvement", "15%")
    assert result.exit_code == 1
    golden("cli/tune.txt", result.stdout)
    golden("cli/tuned.csv", Path("t.csv").read_text())


def test_tables_that_are_not_there_are_refused_before_anything_is_built(fake: OfSignature) -> None:
    done = run(*TUNE, "--tuning", "+missing.csv", "--build-only")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (
        2,
        f"error: no such file or directory: {Path('missing.csv').absolute()}",
    )
