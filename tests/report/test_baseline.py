"""The baseline of AMD kernels: facts of full reports alone, drawn again from what is compiled now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_amd_check_report import ALL, absent, checked, ran

import amd_baseline
from amd_support import amd_toolchain, production_wheel
from ckgen import paths
from ckgen.build.kernel_set_jobs import set_kernels
from ckgen.build.named import named_kernels
from ckgen.cli import cli
from ckgen.cli.option_values import tuning_or_shipped
from ckgen.families.kernel_sets import kernel_set_files, read_kernel_set
from ckgen.model.errors import UsageError
from ckgen.plan.options import PlanOptions
from ckgen.report.amd_check import summarize
from ckgen.report.baseline import FIELDS, RUN, baseline, baseline_text, kernels_of, place_of
from ckgen.report.json_lines import json_lines
from ckgen.specs.archs import load_archs

FOLDER = paths.root() / "docs" / "amd"
REDRAWN = (
    ("--full", "--kernels", "a8w8_blockscale_cktile_32x128x128_1x4x1_16x16x64_intrawave_0x1x0_2"),
    ("--kernel-set", "matrix", "--kernels", "gemm_fp8_ocp_bf16_rcr_mx_hip_mxfp8_gemv_m1_n4x1_k4"),
)
"""Three kernels, of tables and of the set, that compile in a second each."""


def recorded() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / "baseline.json").read_text(encoding="utf-8"))
    return document


def test_a_kernel_has_the_facts_of_its_report_and_of_its_run() -> None:
    runs = [ran("a", findings={"lds_race": 2}), ran("a", "gfx950", right=False)]
    document = baseline([summarize(ALL, (), (), runs)])
    assert document["compilers"] == ["clang 22"]
    facts = {(one["name"], one["arch"]): one for one in document["kernels"]}
    assert facts["a", "gfx942"] == {
        "module": "a8w8", "library": "ck", "name": "a", "arch": "gfx942", "dtype": "int8", "flags": "f",
        "status": "built", "gated": True, "matrix_ops": {"v_mfma": 8}, "vgpr": 100, "agpr": 0, "sgpr": 40, "spills": 0,
        "scratch": 0, "lds": 4096, "code_bytes": 1000, "variants": 2, "right": True, "findings": {"lds_race": 2},
    }  # fmt: skip
    assert facts["a", "gfx950"]["right"] is False and facts["b", "gfx942"]["right"] is None
    assert facts["c", "gfx942"]["status"] == "failed" and facts["c", "gfx942"]["vgpr"] is None


def test_several_reports_become_one_in_the_order_of_places() -> None:
    first, second = summarize([checked("z"), checked("b", "gfx950")]), summarize([checked("b"), checked("m")])
    kernels = baseline([first, second])["kernels"]
    assert [(one["name"], one["arch"]) for one in kernels] == [
        ("b", "gfx942"), ("b", "gfx950"), ("m", "gfx942"), ("z", "gfx942"),
    ]  # fmt: skip
    assert baseline([second, first])["kernels"] == kernels


def test_a_kernel_of_two_reports_and_another_document_are_refused() -> None:
    report = summarize(ALL)
    with pytest.raises(UsageError, match="a on gfx942: two of the summaries have it"):
        baseline([report, report])
    with pytest.raises(UsageError, match=r"not a summary of amd-check: its schema is not ckgen\.amd_check/1"):
        baseline([baseline([report])])


def test_the_tool_writes_the_lines_and_the_page_of_full_reports(tmp_path: Path) -> None:
    reports = {
        "t": summarize(ALL, (), (), [ran("a"), ran("b", findings={"lds_race": 1})]),
        "s": summarize([checked("e")]),
    }
    places = []
    for name, report in reports.items():
        places.append(tmp_path / f"{name}.json")
        places[-1].write_text(json.dumps(report), encoding="utf-8")
    assert amd_baseline.main(["--out", str(tmp_path / "out"), *map(str, places)]) == 0
    assert (tmp_path / "out/baseline.json").read_text() == baseline_text(baseline([*reports.values()]))
    page = (tmp_path / "out/baseline.md").read_text()
    assert "| a8w8 | ck | int8 | gfx942 | 5 | 3 | 2 | 2 | 1 |\n" in page
    assert page.endswith("| all |  |  |  | 6 | 4 | 3 | 2 | 1 |\n")
    assert amd_baseline.main(["--out", str(tmp_path / "out"), str(places[0]), str(places[0])]) == 2


def test_lines_of_kernels_that_no_report_has_are_kept_where_that_is_asked(tmp_path: Path) -> None:
    known, renewed = summarize(ALL), summarize([checked("e"), absent("a")])
    out, place = tmp_path / "out", tmp_path / "renewed.json"
    out.mkdir()
    (out / "baseline.json").write_text(baseline_text(baseline([known])), encoding="utf-8")
    place.write_text(json.dumps(renewed), encoding="utf-8")
    assert amd_baseline.main(["--keep", "--out", str(out), str(place)]) == 0
    found = kernels_of(json.loads((out / "baseline.json").read_text()))
    old, new = kernels_of(baseline([known])), kernels_of(baseline([renewed]))
    assert found == {**old, **new} and [*found] == sorted(found) and len(found) > len(new)
    assert amd_baseline.main(["--out", str(out), str(place)]) == 0
    assert kernels_of(json.loads((out / "baseline.json").read_text())) == new


def test_the_recorded_page_counts_the_recorded_lines() -> None:
    assert (FOLDER / "baseline.md").read_text(encoding="utf-8") == amd_baseline.page(recorded())


def test_the_recorded_lines_are_facts_alone_one_per_kernel_in_order() -> None:
    document = recorded()
    assert set(document) == {"schema", "compilers", "kernels"}
    assert all(tuple(kernel) == FIELDS for kernel in document["kernels"])
    assert [*map(place_of, document["kernels"])] == sorted({*map(place_of, document["kernels"])})
    assert (FOLDER / "baseline.json").read_text(encoding="utf-8") == json_lines(document, 2) + "\n"


def test_every_recorded_kernel_is_one_that_the_tables_name_or_the_set_has() -> None:
    archs = load_archs()
    candidates = [one for file in kernel_set_files(Path("matrix")) for one in read_kernel_set(file)]
    gfx = sorted({kernel["arch"] for kernel in recorded()["kernels"]})
    known = [
        *named_kernels(PlanOptions(targets=None, tuning=tuning_or_shipped(())), archs),
        *set_kernels(candidates, archs, gfx),
    ]
    places = {(one.module, one.library, one.name, one.arch) for one in known}
    assert {place_of(kernel) for kernel in recorded()["kernels"]} <= places


@pytest.mark.amd
def test_three_kernels_compiled_now_are_as_they_stand_in_the_baseline(tmp_path: Path) -> None:
    amd_toolchain(), production_wheel()
    summaries = []
    for number, asked in enumerate(REDRAWN):
        out = tmp_path / str(number)
        words = ("amd-check", *asked, "--journal", str(tmp_path / "journal"), "--out", str(out))
        assert cli.main(words, standalone_mode=False) == 0
        summaries.append(str(out / "summary.json"))
    assert amd_baseline.main(["--out", str(tmp_path), *summaries]) == 0
    redrawn = json.loads((tmp_path / "baseline.json").read_text(encoding="utf-8"))["kernels"]
    known = {place_of(kernel): compiled(kernel) for kernel in recorded()["kernels"]}
    assert len(redrawn) == 3
    assert [compiled(kernel) for kernel in redrawn] == [known[place_of(kernel)] for kernel in redrawn]


def compiled(kernel: Mapping[str, Any]) -> dict[str, Any]:
    """Without what only a run on the emulator tells."""
    return {name: value for name, value in kernel.items() if name not in RUN}
