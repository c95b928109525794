"""`ckgen lookup` and `ckgen explain`: the answer, where it comes from, and the trail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_support import LARGE, SMALL, row, table, write

from ckgen.families.gemm.heuristic import published_rules
from ckgen.families.gemm.predicted.ticks import timed
from commands import as_json, ok, run

FIELDS = [
    "target",
    "signature",
    "shape",
    "tier",
    "instance",
    "table_kernel",
    "k_batch",
    "source",
    "us",
    "external",
    "reason",
    "absent",
]


@pytest.fixture(autouse=True)
def of_published_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Block scale on gfx950 then has no rule and nothing predicted, so that the tiers below these are reached."""
    monkeypatch.setattr("ckgen.families.gemm.family.rules_for", published_rules)
    monkeypatch.setattr("ckgen.families.gemm.family.timed", lambda instances: {})


def asked(shape: str, *more: str, target: str = "gfx942", signature: str = "a8w8_blockscale") -> tuple[str, ...]:
    return ("gemm", "--target", target, "--signature", signature, "--shape", shape, "--tuning", "t", *more)


def look(shape: str, *more: str, code: int = 0, **device: str) -> Any:
    return as_json("lookup", *asked(shape, *more, **device), code=code)


def test_an_exact_row_answers_with_its_kernel_and_place(tiny: Path) -> None:
    found = look("16,512,7168")
    assert list(found) == FIELDS
    assert found == {
        "target": "gfx942:304",
        "signature": "gemm_fp8_fnuz_bf16_rcr_blockscale",
        "shape": {"M": 16, "N": 512, "K": 7168},
        "tier": "exact",
        "instance": f"gemm_fp8_fnuz_bf16_rcr_blockscale_ck_{SMALL.removeprefix('a8w8_blockscale_')}",
        "table_kernel": SMALL,
        "k_batch": 1,
        "source": "t/a8w8_blockscale.csv:2",
        "us": 4.5,
        "external": None,
        "reason": None,
        "absent": None,
    }


@pytest.mark.parametrize(
    "shape, target, tier, source",
    [
        ("17,512,7168", "gfx942", "heuristic", None),
        ("100,512,7168", "gfx942", "near", "t/a8w8_blockscale.csv:3"),
        ("64,512,7168", "gfx942:80", "exact", "t/a8w8_blockscale.csv:5"),
        ("64,512,7168", "gfx942:38", "heuristic", None),
        ("32,512,7168", "gfx950", "exact", "t/a8w8_blockscale.csv:6"),
        ("4000,512,7168", "gfx950", "far", "t/a8w8_blockscale.csv:6"),
        ("32,512,7168", "gfx950:128", "other_cu", "t/a8w8_blockscale.csv:6"),
        ("32,1024,7168", "gfx950", "default", None),
    ],
)
def test_every_tier_is_reached(tiny: Path, shape: str, target: str, tier: str, source: str | None) -> None:
    found = look(shape, target=target)
    assert (found["tier"], found["source"]) == (tier, source)


@pytest.mark.parametrize("shape, target", [("4000,512,7168", "gfx950"), ("32,512,7168", "gfx950:128")])
def test_predicted_times_answer_before_rows_of_other_sizes_and_counts(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, shape: str, target: str
) -> None:
    monkeypatch.setattr("ckgen.families.gemm.family.timed", timed)
    assert (look(shape, target=target)["tier"], look("32,512,7168", target="gfx950")["tier"]) == ("predicted", "exact")


def test_other_counts_of_the_arch_only_help_where_the_library_is_built_for_them(tiny: Path) -> None:
    assert look("32,512,7168", target="gfx950:128")["tier"] == "other_cu"
    assert look("32,512,7168", "--targets", "gfx942", target="gfx950:128")["tier"] == "default"
    assert look("32,512,7168", "--targets", "gfx950", target="gfx950:128")["tier"] == "other_cu"


def test_an_external_winner_is_named_beside_what_can_run(tiny: Path) -> None:
    found = look("4096,512,7168")
    external = {"library": "flydsl", "kernel": "fly_64x64", "source": "t/a8w8_blockscale.csv:4", "us": 300.0}
    assert found["external"] == external
    assert found["tier"] == "heuristic" and found["source"] is None
    assert "external   flydsl fly_64x64  t/a8w8_blockscale.csv:4" in ok("lookup", *asked("4096,512,7168"))


def test_an_unsupported_problem_is_exit_1_with_the_rule(tiny: Path) -> None:
    found = look("16,512,2050", code=1)
    assert (found["tier"], found["instance"], found["k_batch"]) == ("unsupported", None, None)
    assert found["reason"] == "K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)"
    for shape in ("0,512,7168", "-1,512,7168", "99999999999999999999,512,7168"):
        assert "(rule gemm.shape.m" in look(shape, code=1)["reason"]


def test_the_out_type_is_bf16_where_the_signature_says_none(tiny: Path) -> None:
    assert look("16,512,7168", signature="a8w8_blockscale:fp16")["signature"] == "gemm_fp8_fnuz_fp16_rcr_blockscale"
    canonical = look("16,512,7168", signature="gemm_fp8_bf16_rcr_blockscale")
    assert canonical == look("16,512,7168")


def test_a_batch_goes_into_the_shape_or_beside_it(tiny: Path) -> None:
    found = look("4,16,512,7168", signature="batched_bf16")
    assert found["shape"] == {"B": 4, "M": 16, "N": 512, "K": 7168}
    assert look("16,512,7168", "--batch", "4", signature="batched_bf16") == found
    assert look("1,16,512,7168") == look("16,512,7168")


def test_the_peers_rounding_can_be_asked_for(tiny: Path) -> None:
    assert look("17,512,7168", "--m-policy", "aiter")["tier"] == "heuristic"
    assert look("120,512,7168", "--m-policy", "aiter")["source"] == "t/a8w8_blockscale.csv:3"


def test_a_deterministic_result_refuses_atomic_splits(tiny: Path) -> None:
    write(tiny, {"t/a8w8_blockscale.csv": table(row(splits="2"))})
    assert look("16,512,7168")["k_batch"] == 4
    refused = as_json("explain", *asked("16,512,7168", "--deterministic"))
    (exact,) = (step for step in refused["trail"] if step["tier"] == "exact")
    assert (exact["status"], exact["rule"]) == ("rejected", "gemm.instance.atomic-split")


def test_errors_in_tables_are_exit_3_also_as_json(tiny: Path) -> None:
    write(tiny, {"t/a8w8_blockscale.csv": table(row(kernel="nonsense"))})
    document = look("16,512,7168", code=3)
    assert [d["code"] for d in document["diagnostics"]] == ["T012"]
    assert "error[T012] t/a8w8_blockscale.csv:2" in run("lookup", *asked("16,512,7168")).stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("fmah", *asked("1,2,3")[1:]), "unknown op: fmah"),
        (asked("1,2,3", target="gfx942 gfx950"), "--target takes one device"),
        (asked("1,2,3", target="gfx0"), "unknown arch 'gfx0'"),
        (asked("1,2"), "--shape takes M,N,K"),
        (asked("1,2,3,4,5", signature="batched_bf16"), "--shape takes"),
        (asked("1,2,3,4", "--batch", "2", signature="batched_bf16"), "--shape takes"),
        (asked("1,2,x"), "'x' is not an integer"),
        (asked("1,2,3", signature="batched_bf16"), "--shape takes B,M,N,K"),
        (asked("1,2,3", signature="a8w8"), "a8w8:int8"),
        (asked("1,2,3", signature="nope"), "unknown signature: 'nope'"),
        (asked("1,2,3")[:5], "--shape"),
    ],
)
def test_wrong_usage_is_exit_2(tiny: Path, arguments: tuple[str, ...], said: str) -> None:
    for command in ("lookup", "explain"):
        result = run(command, *arguments)
        assert result.exit_code == 2, result.output
        assert said in result.stderr and result.stdout == ""


class TestExplain:
    @pytest.mark.parametrize(
        "name, shape, target",
        [
            ("near", "100,512,7168", "gfx942"),
            ("far", "4000,512,7168", "gfx950"),
            ("other_cu", "32,512,7168", "gfx950:128"),
            ("illegal", "16,512,2050", "gfx942"),
            ("external", "4096,512,7168", "gfx942"),
            ("rejected", "100,256,7168", "gfx950"),
        ],
    )
    def test_the_trail(
        self, tiny: Path, golden: Callable[[str, str], None], name: str, shape: str, target: str
    ) -> None:
        write(tiny, {"t/more_a8w8_blockscale.csv": table(row(gfx="gfx950", cu=256, n=256, m=128, splits="2"))})
        wishes = ["--deterministic"] if name == "rejected" else []
        result = run("explain", *asked(shape, target=target), *wishes)
        assert result.exit_code == (1 if name == "illegal" else 0)
        golden(f"cli/explain_{name}.txt", result.stdout)

    def test_json_holds_the_lookup_and_every_tier(self, tiny: Path) -> None:
        arguments = asked("100,512,7168")
        found = as_json("explain", *arguments)
        steps = found.pop("trail")
        assert found == as_json("lookup", *arguments)
        assert [(step["tier"], step["status"]) for step in steps] == [
            ("forced", "absent"), ("override", "absent"), ("exact", "absent"), ("near", "taken"),
            ("heuristic", "not_tried"), ("predicted", "not_tried"), ("far", "not_tried"), ("other_cu", "not_tried"),
            ("default", "not_tried"),
        ]  # fmt: skip
        assert (steps[3]["source"], steps[3]["instance"]) == (found["source"], found["instance"])

    def test_the_trail_ends_where_lookup_answers(self, tiny: Path) -> None:
        for m in (1, 15, 16, 17, 64, 100, 129, 3000, 4096, 9000):
            for target in ("gfx942", "gfx942:80", "gfx942:64", "gfx950"):
                found = as_json("explain", *asked(f"{m},512,7168", target=target))
                (taken,) = (step for step in found["trail"] if step["status"] == "taken")
                assert (taken["tier"], taken["instance"]) == (found["tier"], found["instance"])


LOADED = "gfx,cu_num,signature,B,M,N,K,kernelName,splitK,us\n"


def test_tables_that_a_program_loads_answer_as_they_do_there(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At `exact` before the compiled row, `near` below it; with an instance that the library lacks not at all."""
    signature = "gemm_fp8_fnuz_bf16_rcr_blockscale"
    large = f"{signature}_ck_{LARGE.removeprefix('a8w8_blockscale_')}"
    foreign = f"{signature}_ck_1x128x128_256x64x256x128_16x16_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v1"
    lines = {16: large, 2048: foreign}
    rows = "".join(f"gfx942,304,{signature},0,{m},512,7168,{name},1,100\n" for m, name in lines.items())
    write(tiny, {"loaded.csv": LOADED + rows})
    monkeypatch.setenv("CKGEN_TABLES", ":loaded.csv")
    found = {m: look(f"{m},512,7168") for m in (16, 12, 2048)}
    assert [(one["tier"], one["instance"]) for one in (found[16], found[12])] == [("exact", large), ("near", large)]
    assert found[16]["source"] == "loaded.csv:2"
    assert found[2048]["instance"] != foreign
    said = run("lookup", *asked("2048,512,7168")).stderr
    assert "a row is left out, its instance is not in the library" in said


def test_a_signature_in_place_of_an_op_is_told_how_it_is_given() -> None:
    found = run("lookup", "gemm_bf16_rcr", "--target", "gfx942", "--shape", "1,2,3")
    assert found.exit_code == 2
    assert "as in `gemm --signature gemm_bf16_rcr`" in found.stderr
