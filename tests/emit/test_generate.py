from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from ckgen import paths
from ckgen.emit.generate import Generation, generate
from ckgen.model.errors import InputError
from ckgen.plan.options import PlanOptions
from ckgen.report.html import pages
from ckgen.specs.archs import load_archs
from plan_support import GFX942, GFX942_80, LARGE, MIDDLE, SMALL_M, row, write_table


def run(out: Path, *tables: Path, dry_run: bool = False, **options: object) -> Generation:
    chosen = PlanOptions(targets=(GFX942_80, GFX942), tuning=tables, **options)  # type: ignore[arg-type]
    return generate(chosen, load_archs(), "my_kernels", out, dry_run=dry_run)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [row(16, SMALL_M), row(32, SMALL_M), row(48, SMALL_M), row(64, MIDDLE), row(4096), row(64, LARGE, cu_num=80)]
    rows.append(row(128, "_ZN5aiter3fooE", libtype="asm"))
    return write_table(tmp_path / "a8w8_blockscale.csv", rows)


def test_the_tree_of_a_small_table(table: Path, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    made = run(tmp_path / "out", table, kernels=("a8w8_blockscale_*",), ops=frozenset({"gemm"}))
    unit = "gemm_fp8_fnuz_bf16_rcr_blockscale"
    wanted = ["policy.hpp", "register.cpp", "include/my_kernels/register.hpp", "sources.cmake"]
    wanted += [
        f"{unit}/{name}" for name in ("instances.hpp", "unit.cpp", "lookup_gfx942_304.hpp", "lookup_gfx942_80.hpp")
    ]
    assert set(wanted) <= set(made.texts)
    for path in wanted:
        golden(f"generate/{path}", made.texts[path])


def test_a_second_run_parses_nothing_and_touches_nothing(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out, table)
    before = {path: path.stat().st_mtime_ns for path in (out, *out.rglob("*"))}
    again = run(out, table)
    assert again.plan is None and again.up_to_date and again.changed_inputs == ()
    assert {path: path.stat().st_mtime_ns for path in (out, *out.rglob("*"))} == before


@pytest.mark.parametrize("option", ["strict", "strict_layers"])
def test_rows_that_were_let_pass_are_judged_again_where_that_is_asked(table: Path, tmp_path: Path, option: str) -> None:
    run(tmp_path / "out", table)
    again = run(tmp_path / "out", table, **{option: True})
    assert again.plan is not None and again.up_to_date and again.texts


def test_what_has_changed_since_is_told_by_name(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(out, table).changed_inputs == ()
    table.write_text(table.read_text() + row(512, MIDDLE) + "\n")
    for dry_run in (True, False):
        assert run(out, table, dry_run=dry_run).changed_inputs == ("tuning/0/a8w8_blockscale.csv",)


def test_a_file_that_somebody_changed_is_mended(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out, table)
    (out / "policy.hpp").write_text("tampered")
    assert run(out, table).changes.changed == ("policy.hpp",)


def test_a_manifest_that_somebody_changed_is_mended(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = run(out, table).manifest.to_text()
    for old, new in (('"rows": ', '"rows": 1'), ('"schema"', ' "schema"')):
        (out / "manifest.json").write_text(before.replace(old, new))
        assert run(out, table).changes.changed == ("manifest.json",)
        assert (out / "manifest.json").read_text() == before


def test_an_edited_row_changes_only_its_own_shard(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out, table)
    table.write_text(table.read_text().replace(row(64, LARGE, cu_num=80), row(64, SMALL_M, cu_num=80)))
    changed = set(run(out, table).changes.changed)
    assert changed == {"gemm_fp8_fnuz_bf16_rcr_blockscale/lookup_gfx942_80.hpp", "manifest.json"}


def test_nothing_is_written_when_a_row_is_wrong(tmp_path: Path) -> None:
    bad = write_table(tmp_path / "a8w8_blockscale.csv", [row(16), row("x")])  # type: ignore[arg-type]
    with pytest.raises(InputError) as error:
        run(tmp_path / "out", bad)
    assert [d.code for d in error.value.diagnostics] == ["T005"]
    assert not (tmp_path / "out").exists()


def test_the_manifest_names_tables_by_their_path_in_the_argument_and_no_place(tmp_path: Path) -> None:
    write_table(tmp_path / "tables/deep/a8w8_blockscale.csv", [row(16)])
    run(tmp_path / "out", tmp_path / "tables")
    text = (tmp_path / "out/manifest.json").read_text()
    assert list(json.loads(text)["inputs"]) == ["tuning/0/deep/a8w8_blockscale.csv"]
    tree = "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert str(tmp_path) not in tree and os.uname().nodename not in tree


def test_every_template_fails_on_a_name_that_it_is_not_given() -> None:
    for template in pages().list_templates():
        if template == "report/page.html.j2":  # what pages have in common is given nothing
            continue
        with pytest.raises((UndefinedError, TypeError)):
            pages().get_template(template).render(version="1")


PROGRAM = """
import sys
from pathlib import Path
from ckgen.emit.generate import generate
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.specs.archs import load_archs
targets = tuple(sorted({Target("gfx942", int(n)) for n in sys.argv[3].split(",")}))
options = PlanOptions(targets=targets, tuning=(Path(sys.argv[1]),))
generate(options, load_archs(), "my_kernels", Path(sys.argv[2]), dry_run=False)
"""


@pytest.mark.parametrize(("seed", "targets"), [("0", "80,304"), ("1", "304,80"), ("12345", "304,80,304")])
def test_hash_seed_working_directory_and_order_change_no_byte(
    table: Path, tmp_path: Path, seed: str, targets: str
) -> None:
    reference = run(tmp_path / "ref", table)
    cwd = tmp_path / f"cwd{seed}"
    cwd.mkdir()
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(paths.package_dir().parent)}
    command = [sys.executable, "-c", PROGRAM, os.path.relpath(table, cwd), "out", targets]
    subprocess.run(command, cwd=cwd, env=environment, check=True)
    produced = {p.relative_to(cwd / "out").as_posix(): p.read_text() for p in (cwd / "out").rglob("*") if p.is_file()}
    assert produced == dict(reference.texts)
