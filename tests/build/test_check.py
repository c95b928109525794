"""The check of all named kernels: its journal, what is done again, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.build.cache import Cache
from ckgen.build.check import check, sample
from ckgen.build.journal import Checked, Journal
from ckgen.build.named import NamedKernel, named_kernels
from ckgen.build.pool import Limits, Outcome
from ckgen.build.result import Status
from ckgen.model.errors import InputError
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.specs.archs import load_archs
from elf_writer import code_object
from fake_compiler import FakeCompiler
from plan_support import LARGE, MIDDLE, REAL_TABLES, SMALL_M, row, write_table

ARCHS = load_archs()


def named(*tables: Path, targets: tuple[Target, ...] | None = None) -> tuple[NamedKernel, ...]:
    return named_kernels(PlanOptions(targets=targets, tuning=tables), ARCHS)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    rows = [row(16, SMALL_M), row(32, SMALL_M, gfx="gfx950", cu_num=256), row(64, MIDDLE), row(128, MIDDLE), row(256)]
    return write_table(tmp_path / "t" / "a8w8_blockscale.csv", rows)


class Bench:
    """A fake toolchain, a cache and a journal."""

    def __init__(self, folder: Path) -> None:
        self.compiler = FakeCompiler(folder / "tools")
        self.compiler.linked.write_bytes(code_object())
        self.cache = Cache(folder / "cache")
        self.journal = Journal(folder / "journal.jsonl")

    def check(self, kernels: tuple[NamedKernel, ...]) -> tuple[Checked, ...]:
        self.heard: list[tuple[Checked, Outcome | None]] = []
        return check(
            kernels,
            self.compiler.toolchain(),
            ARCHS,
            self.cache,
            Limits(jobs=2, memory_mb=1 << 20),
            self.journal,
            lambda checked, outcome: self.heard.append((checked, outcome)),
            lambda standing: None,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_every_name_is_there_once_per_arch_with_all_its_problems(tables: Path) -> None:
    found = {(kernel.name, kernel.arch): kernel for kernel in named(tables)}
    assert sorted(found) == sorted([(SMALL_M, "gfx942"), (SMALL_M, "gfx950"), (MIDDLE, "gfx942"), (LARGE, "gfx942")])
    middle = found[MIDDLE, "gfx942"]
    assert [use.shape.m for use in middle.uses] == [64, 128] and middle.rows == 2
    assert middle.instance.signature.canonical() == "gemm_fp8_fnuz_bf16_rcr_blockscale"
    assert found[SMALL_M, "gfx950"].instance.signature.canonical() == "gemm_fp8_ocp_bf16_rcr_blockscale"


def test_only_archs_that_are_asked_for(tables: Path) -> None:
    assert {kernel.arch for kernel in named(tables, targets=(Target("gfx950", 1),))} == {"gfx950"}


def test_a_name_that_does_not_parse_is_an_error_of_its_row(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16), row(32, "nonsense")])
    with pytest.raises(InputError, match=r"T012.*a8w8_blockscale.csv:3"):
        named(table)


def test_the_shipped_tables_name_290_kernels() -> None:
    kernels = named(REAL_TABLES)
    assert len({kernel.name for kernel in kernels}) == 290
    assert len({(kernel.module, kernel.library, kernel.name) for kernel in kernels}) == 300
    assert len(kernels) == 354
    picked = sample(kernels)
    groups = {(kernel.module, kernel.library, kernel.arch) for kernel in kernels}
    assert len(picked) == len(groups) == 15


def test_each_kernel_is_compiled_judged_and_written_once(bench: Bench, tables: Path) -> None:
    first = bench.check(named(tables))
    assert [one.result.status for one in first] == [Status.BUILT] * 4
    assert all(rule in ("missing_kernel", "unexpected_kernel") for one in first for rule in
               (finding.rule for finding in one.result.errors))  # fmt: skip
    runs, lines = len(bench.compiler.runs), bench.journal.path.read_text()
    assert len(lines.splitlines()) == 4 + 1, "one line each, and one of the host unit"
    assert bench.check(named(tables)) == first
    assert len(bench.compiler.runs) == runs and bench.journal.path.read_text() == lines
    assert tuple(bench.journal.read().values()) == first
    (host,) = bench.journal.hosts().values()
    assert host.ok and (host.module, host.library) == ("a8w8_blockscale", "ck") and host.object_bytes > 0


def test_a_check_that_was_stopped_goes_on_where_it_was(bench: Bench, tables: Path) -> None:
    part = bench.check(named(tables)[:2])
    before = len(bench.compiler.runs)
    whole = bench.check(named(tables))
    assert [one for one in whole if one in part] == list(part)
    assert len(bench.compiler.runs) - before == 2 * 3, "compile, assemble and link the other two"


def test_a_line_cut_short_is_passed_over(bench: Bench, tables: Path) -> None:
    found = bench.check(named(tables))
    text = bench.journal.path.read_text()
    bench.journal.path.write_text(text[: len(text) - 40])
    assert len(bench.journal.read()) + len(bench.journal.hosts()) == 4
    bench.journal.path.write_text('{"schema": "other"}\n[]\n' + text)
    assert tuple(bench.journal.read().values()) == found


def test_the_last_line_of_a_kernel_holds(bench: Bench, tables: Path) -> None:
    found = bench.check(named(tables))
    bench.compiler.linked.write_bytes(b"no ELF")
    other = Cache(bench.cache.folder.parent / "other")
    bench.cache = other
    again = bench.check(named(tables))
    assert again != found and tuple(bench.journal.read().values()) == again
