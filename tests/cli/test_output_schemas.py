"""What commands print with --json is what their schemas say."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cli_support import row, table, write

from ckgen.emit.schema import schema
from commands import as_json

GEMM = ("gemm", "--target", "gfx942", "--tuning", "t", "--signature")
MOE = ("moe", "--target", "x86_64_v3", "--tuning", "t", "--signature", "bf16:gated:silu")
FMHA = ("fmha:bf16_masked", "--target", "gfx942", "batch=1", "heads_q=8", "seqlen_q=64", "hdim_q=128")
PROBLEMS = [
    ((*GEMM, "a8w8_blockscale", "--shape", "16,512,7168"), 0, "exact"),
    ((*GEMM, "a8w8_blockscale", "--shape", "4096,512,7168"), 0, "heuristic"),
    ((*GEMM, "a8w8_blockscale", "--shape", "16,512,2050"), 1, "unsupported"),
    ((*GEMM, "a8w8_blockscale", "--shape", "0,512,2050"), 1, "unsupported"),
    ((*GEMM, "batched_bf16", "--shape", "4,16,512,7168"), 0, "default"),
    ((*MOE, "--shape", "30,384,4096", "--experts", "128", "--top-k", "8"), 0, "default"),
    (("grouped_gemm", *GEMM[1:], "grouped:bf16", "--groups", "16x64x64,32x64x64"), 0, "default"),
    (("grouped_gemm", *GEMM[1:], "grouped:bf16", "--groups-on-device", "3:32x64x64"), 0, "default"),
    ((*FMHA, "mask=causal"), 0, "default"),
    ((*FMHA[:-1], "hdim_q=4096"), 1, "unsupported"),
]


def check(kind: str, document: Any) -> None:
    jsonschema.Draft202012Validator(schema(kind)).validate(document)


@pytest.mark.parametrize("kind", ["lookup", "explain", "validate"])
def test_they_are_schemas(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(kind))


@pytest.mark.parametrize(("problem", "code", "tier"), PROBLEMS)
def test_answers_of_every_operation_are_as_said(tiny: Path, problem: tuple[str, ...], code: int, tier: str) -> None:
    for kind in ("lookup", "explain"):
        document = as_json(kind, *problem, code=code)
        assert document["tier"] == tier
        check(kind, document)


def test_fates_and_findings_are_as_said(tiny: Path) -> None:
    check("validate", as_json("validate", "t"))
    check("validate", as_json("validate", "t", "--why-not", "*"))
    write(tiny, {"t/a8w8_blockscale.csv": table(row(kernel="nonsense"), row(m="x"))})
    check("validate", as_json("validate", "t", code=3))


@pytest.mark.parametrize("kind", ["lookup", "explain"])
def test_wrong_input_is_as_said(tiny: Path, kind: str) -> None:
    write(tiny, {"t/a8w8_blockscale.csv": table(row(kernel="nonsense"))})
    check(kind, as_json(kind, *PROBLEMS[0][0], code=3))


def test_what_is_not_as_said_is_refused(tiny: Path) -> None:
    right = as_json("explain", *PROBLEMS[0][0])
    for wrong in (
        right | {"us": "4.5"},
        right | {"tier": "nearest"},
        right | {"shape": {"M": "16"}},
        {key: value for key, value in right.items() if key != "us"},
        right | {"time": 4.5},
        {"error": "invalid input"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            check("explain", wrong)
    step = copy.deepcopy(right)
    step["trail"][0]["status"] = "taken twice"
    with pytest.raises(jsonschema.ValidationError):
        check("explain", step)
