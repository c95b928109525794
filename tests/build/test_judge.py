"""From a code object to a result: figures of all kernels, and every rule that is broken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.compile import CODE_OBJECT, device_job
from ckgen.build.entry import Entry
from ckgen.build.judge import Judge, first_error
from ckgen.build.packed_code import pack_code
from ckgen.build.planned import Planned
from ckgen.build.pool import Outcome
from ckgen.build.result import Result, Status
from ckgen.build.unit_files import SHIPPED_OBJECT
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_archs
from elf_writer import code_object, kernel
from fake_compiler import FakeCompiler

ALLOWED = Expectation((), 0, lds_bytes=65536, scratch_bytes=12, spills=5, waves_per_simd=1)


def planned(**changes: object) -> Planned:
    plain = Planned(
        kernel="gemm_x", id=7, table_name="x", backend="ck", module="a8w8", signature="gemm_int8_bf16_rcr_rowwise",
        arch="gfx942", unavailable="", splits_unavailable="", text="text", expected=(("k", ALLOWED),),
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]


class Bench:
    """A judge over a fake toolchain, and entries made by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.toolchain = FakeCompiler(folder / "tools").toolchain()
        self.judge = Judge(self.toolchain, load_archs(), "rules")

    def outcome(self, one: Planned, data: bytes, *, failed: tuple[str, ...] = (), log: str = "") -> Outcome:
        place = self.folder / "entry"
        place.mkdir(exist_ok=True)
        (place / CODE_OBJECT).write_bytes(data)
        entry = Entry(place, "x", 12.5, 11.5, 640.0, log, failed, len(failed), (), {})
        return Outcome(device_job(one.unit, self.toolchain), entry, cached=False)

    def result(self, one: Planned, data: bytes) -> Result:
        return self.judge.result(one, self.outcome(one, data))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def rules(result: Result) -> list[str]:
    return [finding.rule for finding in result.findings if finding.severity == "error"]


def test_the_figures_are_the_metadatas(bench: Bench) -> None:
    data = code_object()
    result = bench.result(planned(), data)
    figures = result.figures
    assert result.status is Status.BUILT and figures is not None
    assert (figures.vgpr, figures.agpr, figures.sgpr, figures.spills, figures.scratch) == (300, 44, 30, 5, 12)
    assert (figures.lds, figures.code_bytes, figures.variants) == (65536, 4, 1)
    assert figures.object_bytes == len(data) and figures.packed_bytes == len(pack_code(data, 9))
    assert (result.seconds, result.cpu_seconds, result.peak_mb) == (12.5, 11.5, 640.0)
    assert rules(result) == [] and result.passed


@pytest.mark.parametrize(
    ("demands", "broken"),
    [
        (replace(ALLOWED, spills=4), "spills"),
        (replace(ALLOWED, scratch_bytes=8), "scratch"),
        (replace(ALLOWED, lds_bytes=65535), "lds_over_arch"),
        (replace(ALLOWED, steps=(("v_mfma_f32_32x32x8_f16", 4),)), "no_matrix_ops"),
    ],
)
def test_what_breaks_a_demand_is_an_error_of_its_kernel(bench: Bench, demands: Expectation, broken: str) -> None:
    result = bench.result(planned(expected=(("k", demands),)), code_object())
    assert rules(result) == [broken] and not result.passed
    assert {finding.variant for finding in result.errors} == {"k"}


def test_kernels_must_be_those_that_were_asked_for(bench: Bench) -> None:
    lacking = bench.result(planned(expected=(("k", ALLOWED), ("other", ALLOWED))), code_object())
    assert [(finding.rule, finding.variant) for finding in lacking.errors] == [("missing_kernel", "other")]
    (bench.folder / "entry" / "judged-rules.json").unlink()
    more = bench.result(planned(expected=()), code_object())
    assert [(finding.rule, finding.measured) for finding in more.errors] == [("unexpected_kernel", "k")]


def test_what_is_compiled_beside_a_shipped_kernel_is_judged_with_it(bench: Bench) -> None:
    data = code_object()
    for demands, broken in ((ALLOWED, []), (replace(ALLOWED, spills=4), ["spills", "spills"])):
        one = planned(backend="asm", text="gfx942 a.co 00\n", stages="stages", expected=(("k", demands),))
        outcome = bench.outcome(one, data)
        outcome.entry.output(SHIPPED_OBJECT).write_bytes(data)
        bench.judge.version = str(demands.spills)
        result = bench.judge.result(one, outcome)
        assert rules(result) == broken and result.figures is not None and result.figures.variants == 2
        assert result.figures.object_bytes == 2 * len(data)
        assert result.figures.packed_bytes == 2 * len(pack_code(data, 9))


def test_what_is_no_code_object_is_an_error_with_its_size(bench: Bench) -> None:
    result = bench.result(planned(), b"no ELF")
    assert rules(result) == ["unreadable"] and result.figures is not None and result.figures.object_bytes == 6


def test_verdicts_are_kept_until_the_rules_change(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    data = code_object(
        metadata={"amdhsa.kernels": [kernel(vgpr_count=90)], "amdhsa.target": "amdgcn-amd-amdhsa--gfx942"}
    )
    first = bench.result(planned(), data)
    kept = bench.folder / "entry" / "judged-rules.json"
    written = kept.read_text()
    assert '"vgpr":90' in written
    monkeypatch.setattr(Judge, "_look", lambda *_: pytest.fail("judged anew"))
    assert bench.result(planned(), data) == first
    monkeypatch.undo()
    kept.write_text(written.replace('"vgpr":90', '"vgpr":91'))
    assert bench.result(planned(), data) == first
    bench.judge.version = "other"
    assert bench.result(planned(), data) == first and not kept.exists()


def test_a_failure_names_the_first_error_of_the_log(bench: Bench) -> None:
    log = "In file included from x\nx.hpp:3:1: error: static assertion failed\nx.hpp:9:9: error: another\n"
    one = planned()
    result = bench.judge.result(one, bench.outcome(one, b"", failed=("cc",), log=log))
    assert result.status is Status.FAILED and result.figures is None and not result.passed
    assert [(f.rule, f.reason) for f in result.errors] == [("compile", "x.hpp:3:1: error: static assertion failed")]
    assert first_error("ld: cannot\n") == "ld: cannot" and first_error("") == "no output"


def test_what_the_tree_cannot_make_is_a_note_and_no_error(bench: Bench) -> None:
    result = bench.judge.result(planned(unavailable="no such pipeline", text="", expected=()), None)
    assert result.status is Status.UNAVAILABLE and not result.errors and not result.passed
    assert [(f.rule, f.severity, f.reason) for f in result.findings] == [("unavailable", "note", "no such pipeline")]


def test_a_result_survives_json(bench: Bench) -> None:
    for result in (bench.result(planned(), code_object()), bench.judge.result(planned(unavailable="no"), None)):
        assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_an_entry_has_exactly_the_keys_that_are_promised(bench: Bench) -> None:
    figures = ["matrix_ops", "opcodes", "vgpr", "agpr", "sgpr", "spills", "scratch", "lds", "code_bytes"]
    keys = ["kernel", "table_name", "arch", "seconds", "peak_mb", *figures, "findings"]
    assert list(bench.result(planned(), code_object()).entry()) == keys
    assert list(bench.judge.result(planned(unavailable="no"), None).entry()) == keys


def test_a_kernel_that_cannot_split_k_says_so_and_is_no_failure(bench: Bench) -> None:
    data = code_object()
    result = bench.result(planned(splits_unavailable="no AtomicAdd"), data)
    notes = [finding for finding in result.findings if finding.rule == "unavailable_splits"]
    assert [(note.severity, note.reason) for note in notes] == [("note", "no AtomicAdd")]
    assert bench.result(planned(), data).findings == tuple(f for f in result.findings if f not in notes)
