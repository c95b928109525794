"""The summary of a check: every number follows from the journal's lines, and the page has the document's."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ckgen.build.journal import Checked, CheckedHost, CheckedRun
from ckgen.build.named import NamedKernel
from ckgen.build.result import Figures, Result, ResultFinding, Status
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.report.amd_check import makespan, summarize
from ckgen.report.html import summary_html

FIGURES = Figures({"v_mfma": 8}, {"v_mfma": 8, "s_endpgm": 1}, 100, 0, 40, 0, 0, 4096, 1000, 3000, 1200, 2)
RESULT = Result(
    kernel="gemm_a", table_name="a", backend="ck", module="a8w8", signature="s", arch="gfx942", status=Status.BUILT,
    key="k", flags="f", compiler="clang 22", seconds=40.0, cpu_seconds=20.0, peak_mb=700.0, figures=FIGURES,
    findings=(),
)  # fmt: skip
A8W8 = "a8w8_rowwise_256x64x64x128_32x32_1x1_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3"
SPILLS = ResultFinding("spills", "error", "8 registers are spilled", 8, 0, "v1")


def checked(
    name: str, arch: str = "gfx942", *, module: str = "a8w8", signatures: int = 2, **changes: object
) -> Checked:
    result = replace(RESULT, table_name=name, arch=arch, kernel=f"gemm_{name}", **changes)  # type: ignore[arg-type]
    return Checked(module, "ck", name, arch, "int8", 5, signatures, result)


def absent(name: str) -> Checked:
    finding = ResultFinding("unavailable", "note", "no such <pipeline>", "-", "-")
    return checked(name, status=Status.UNAVAILABLE, figures=None, findings=(finding,), seconds=None, cpu_seconds=None,
                   peak_mb=None)  # fmt: skip


ALL = (
    checked("a"),
    checked("a", "gfx950", cpu_seconds=36.0, peak_mb=1100.0),
    checked("b", findings=(SPILLS, replace(SPILLS, variant="v2")), signatures=1),
    checked("c", status=Status.FAILED, figures=None, findings=(ResultFinding("compile", "error", "boom", 1, 0),)),
    absent("d"),
)
HOST = CheckedHost("a8w8", "ck", "gemm_a", True, 9.0, 6.0, 300.0, 50_000)


def test_totals_count_every_kernel_once_per_arch() -> None:
    assert summarize(ALL)["totals"] == {
        "names": 4, "named": 5, "not_checked": 0, "emitted": 4, "compiled": 3, "gated": 2, "failed": 1,
        "unavailable": 1, "variants": 6, "rows": 25,
    }  # fmt: skip


def test_what_the_tables_name_counts_before_it_is_checked() -> None:
    signature = parse_signature("a8w8:int8", None)
    config = identify("a8w8", "ck", A8W8)
    assert config is not None
    instance = make_instance(signature, config.config, module="a8w8", table_kernel=A8W8, archs=("gfx942",))

    def named(name: str, arch: str) -> NamedKernel:
        return NamedKernel("a8w8", "ck", name, arch, instance, (), 1, 1)

    document = summarize(ALL, (), [named("a", "gfx942"), named("z", "gfx942"), named("z", "gfx90a")])
    assert {name: document["totals"][name] for name in ("names", "named", "not_checked")} == {
        "names": 5, "named": 7, "not_checked": 2,
    }  # fmt: skip
    counts = {row["arch"]: (row["named"], row["emitted"]) for row in document["matrix"]}
    assert counts == {"gfx90a": (1, 0), "gfx942": (5, 3), "gfx950": (1, 1)}


def test_the_matrix_is_by_family_dtype_and_arch() -> None:
    rows = summarize([*ALL, checked("e", module="batched_a8w8")])["matrix"]
    keys = [(row["module"], row["dtype"], row["arch"]) for row in rows]
    assert keys == [("a8w8", "int8", "gfx942"), ("a8w8", "int8", "gfx950"), ("batched_a8w8", "int8", "gfx942")]
    first = rows[0]
    assert (first["named"], first["emitted"], first["compiled"], first["gated"]) == (4, 3, 2, 1)
    assert (first["executed"], first["clean"], first["not_verified_on_hardware"]) == (None, None, 2)


def ran(name: str, arch: str = "gfx942", **changes: object) -> CheckedRun:
    run = CheckedRun("a8w8", "ck", name, arch, f"gemm_{name}", True, (48, 64, 256, 1), 1, 1000, 0.5, {}, ())
    return replace(run, **changes)  # type: ignore[arg-type]


def test_what_ran_is_counted_where_it_was_right_and_where_nothing_was_found() -> None:
    runs = [ran("a"), ran("b", findings={"lds_race": 2}), ran("a", "gfx950", right=False, trouble=("it ended",))]
    document = summarize(ALL, (), (), runs)
    counts = {row["arch"]: (row["executed"], row["clean"]) for row in document["matrix"]}
    assert counts == {"gfx942": (2, 1), "gfx950": (0, 0)}
    assert [(one["name"], one["right"], one["findings"]) for one in document["runs"]] == [
        ("a", True, {}), ("a", False, {}), ("b", True, {"lds_race": 2}),
    ]  # fmt: skip


def test_a_kernel_that_is_not_built_or_not_passed_stands_with_its_reason() -> None:
    document = summarize(ALL)
    assert [(one["name"], one["status"], one["reason"]) for one in document["not_built"]] == [
        ("c", "failed", "boom"),
        ("d", "unavailable", "no such <pipeline>"),
    ]
    (refused,) = document["not_passed"]
    assert refused["findings"] == ["spills: 8 registers are spilled"], "once, however many variants"


def test_the_library_has_what_passed_once_per_signature() -> None:
    library = summarize(ALL, [HOST])["library"]
    assert library["code_objects"] == 4 and library["kernels"] == 8
    assert (library["object_bytes"], library["packed_bytes"], library["packed_bytes_each"]) == (12_000, 4_800, 1_200)
    assert [row["code_objects"] for row in library["by_arch"]] == [2, 2]
    assert library["device_cpu_seconds"] == 2 * 20 + 2 * 36
    assert (library["host_units"], library["host_object_bytes"], library["host_cpu_seconds"]) == (2, 100_000, 12.0)
    assert library["seconds_on_cores"] == 36.0 and library["memory_mb_on_cores"] == 16 * 1100


@pytest.mark.parametrize(
    ("seconds", "workers", "expected"),
    [([], 4, 0.0), ([5.0], 4, 5.0), ([4, 3, 3, 2], 2, 6.0), ([1.0] * 32, 16, 2.0), ([10, 1, 1, 1], 2, 10.0)],
)
def test_the_time_on_many_cores(seconds: Sequence[float], workers: int, expected: float) -> None:
    assert makespan(seconds, workers) == expected


def test_the_document_does_not_depend_on_the_order_of_lines() -> None:
    shuffled = list(ALL)
    random.Random(1).shuffle(shuffled)
    assert json.dumps(summarize(shuffled)) == json.dumps(summarize(ALL))


def test_the_page_has_the_documents_numbers_and_needs_nothing_else() -> None:
    document = summarize(ALL, [HOST])
    page = summary_html(document)
    cells = re.findall(r"<tr>(<td>gemm.*)", page)
    assert [re.sub(r"<td[^>]*>", "|", cell) for cell in cells] == [
        "|gemm|a8w8|ck|int8|gfx942|4|3|2|1|–|–|2",
        "|gemm|a8w8|ck|int8|gfx950|1|1|1|1|–|–|1",
    ]
    assert "no such &lt;pipeline&gt;" in page and "<strong>Nothing here is verified on hardware.</strong>" in page
    assert "http" not in page and "<script" not in page and len(page) < 10_000


def test_a_check_of_nothing_is_a_document_too() -> None:
    document = summarize([])
    assert document["totals"]["named"] == 0 and document["matrix"] == []
    assert "None." in summary_html(document)
