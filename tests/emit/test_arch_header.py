"""The checked-in arch header is what the specs say."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen import paths
from ckgen.emit import arch_header
from ckgen.emit.product_header import NAME
from ckgen.families.common import cpp
from ckgen.model.arch import Partition, Sku
from ckgen.specs import load_arch, load_archs
from ckgen.specs.kinds import numbers, texts


def test_the_checked_in_header_is_up_to_date(request: pytest.FixtureRequest) -> None:
    text = arch_header.render_arch_header(load_archs())
    path = arch_header.header_path()
    if request.config.getoption("--update-goldens", default=False):
        arch_header.main(["--write"])
    fix = f"run `{arch_header.COMMAND}` or `pytest --update-goldens`"
    assert path.is_file(), fix
    assert path.read_text(encoding="utf-8") == text, f"arch_specs/ and {path.name} differ; {fix}"


def test_order_of_specs_changes_nothing() -> None:
    archs = load_archs()
    assert arch_header.render_arch_header(archs) == arch_header.render_arch_header(dict(reversed(archs.items())))


def test_drift_is_told_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arch_header, "header_path", lambda: tmp_path / "include" / "arch_data.hpp")
    assert arch_header.main([]) == 1
    assert arch_header.COMMAND in capsys.readouterr().err
    assert arch_header.main(["--write"]) == 0
    written = (tmp_path / "include" / "arch_data.hpp").stat().st_mtime_ns
    assert arch_header.main(["--write"]) == 0
    assert arch_header.main([]) == 0
    assert (tmp_path / "include" / "arch_data.hpp").stat().st_mtime_ns == written


PROGRAM = """\
#include <ckgen/arch_data.hpp>
using ckgen::Arch;
static_assert(ckgen::find_arch("gfx942") == Arch::gfx942);
static_assert(ckgen::find_arch("gfx942:sramecc+:xnack-") == Arch::gfx942);
static_assert(ckgen::find_arch("gfx94") == Arch::unknown && ckgen::find_arch("") == Arch::unknown);
static_assert(ckgen::arch_info(Arch::gfx950).lds_bytes == 163840);
static_assert(ckgen::arch_info(static_cast<Arch>(200)).arch == Arch::unknown);
static_assert(ckgen::arch_info(Arch::gfx942).fp8 == ckgen::Fp8Flavour::fnuz);
constexpr bool indexed() {
  for (std::size_t i = 0; i <= ckgen::arch_count; ++i)
    if (static_cast<std::size_t>(ckgen::arch_table[i].arch) != i) return false;
  return true;
}
static_assert(indexed());
"""


@pytest.mark.cpp
def test_the_header_compiles_and_answers(tmp_path: Path) -> None:
    source = tmp_path / "probe.cpp"
    source.write_text(PROGRAM, encoding="utf-8")
    compile_alone(source)


@pytest.mark.cpp
def test_the_largest_numbers_of_a_spec_fit_the_header(tmp_path: Path) -> None:
    count, cache = int(numbers("count").most), int(numbers("cache_bytes").most)
    arch = load_arch("gfx942")
    sku = replace(arch.default_sku, cu_num=count, xcds=count)
    largest = replace(
        arch,
        wave_size=count,
        max_threads_per_block=count,
        lds_bytes=int(numbers("lds_bytes").most),
        xcds=count,
        l2_bytes_per_xcd=cache,
        last_level_cache_bytes=cache,
        skus=(sku,),
    )
    source = tmp_path / "arch_data.cpp"
    text = arch_header.render_arch_header({arch.name: largest})
    source.write_text(text.replace("#pragma once\n", ""), encoding="utf-8")
    compile_alone(source)


def compile_alone(source: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    include = paths.dispatcher_dir() / "include"
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{include}"]
    done = subprocess.run([compiler, *flags, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


HOSTILE = st.text(alphabet='ab_:"\\\n\0/*#?{}; é9', max_size=8) | st.text(max_size=8)
"""Texts of what ends a token, a literal, a comment or a line."""


@given(HOSTILE | st.from_regex(texts("arch").pattern, fullmatch=True) | HOSTILE.map(lambda tail: f"gfx{tail}"))
def test_an_arch_name_that_is_accepted_is_one_token_wherever_it_stands(name: str) -> None:
    arch = replace(load_arch("gfx942"), name=name)
    if texts("arch").holds(name):
        text = arch_header.render_arch_header({name: arch})
        assert f"\n  {name},\n" in text and f'{{"{name}", Arch::{name}, ' in text
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and "__" not in name
    elif not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        with pytest.raises(ValueError, match="not usable as a C\\+\\+ identifier"):
            arch_header.render_arch_header({name: arch})


@given(st.sampled_from(["arch", "word", "product", "mode"]), HOSTILE)
def test_words_of_specs_that_are_accepted_may_stand_in_a_literal(kind: str, text: str) -> None:
    assert not texts(kind).holds(text) or cpp.quotable(text) == text


def test_a_count_has_the_fewest_chiplets_of_all_products_that_report_it() -> None:
    text = arch_header.render_arch_header(load_archs())
    assert "{Arch::gfx942, 38, 1}," in text and "{Arch::gfx942, 76, 2}," in text
    assert "{Arch::gfx942, 228, 6}," in text and "{Arch::gfx942, 304, 8}," in text


def test_counts_that_products_and_partitions_share_have_the_fewest_chiplets() -> None:
    arch = load_arch("gfx942")

    def product(cu_num: int, xcds: int, *partitions: int) -> Sku:
        parts = tuple(Partition("part", count) for count in partitions)
        return replace(arch.default_sku, cu_num=cu_num, xcds=xcds, partitions=parts)

    def written(*skus: Sku) -> list[str]:
        text = arch_header.render_arch_header({arch.name: replace(arch, skus=skus)})
        return re.findall(r"\{Arch::gfx942, (\d+, \d+)\},", text)

    assert written(product(64, 8, 32, 8, 4)) == ["4, 1", "8, 1", "32, 4", "64, 8"]
    few, many, whole = product(32, 2), product(32, 6), product(64, 8, 32)
    for skus in ((few, many, whole), (whole, many, few), (many, whole, few)):
        assert written(*skus) == ["32, 2", "64, 8"]
    for skus in ((many, whole), (whole, many)):
        assert written(*skus) == ["32, 4", "64, 8"]


def test_the_program_writes_the_named_file_where_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "other.hpp"

    def program(*arguments: str) -> object:
        monkeypatch.setattr(sys, "argv", [*arguments])
        monkeypatch.delitem(sys.modules, "ckgen.emit.arch_header", raising=False)
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("ckgen.emit.arch_header", run_name="__main__")
        return ended.value.code

    assert program("--write", str(place)) == 1  # the name of a program is no argument
    said = [f"{name} is not what arch_specs/ says; run: {arch_header.COMMAND}\n" for name in (place.name, NAME)]
    assert capsys.readouterr().err == "".join(said)
    assert program("arch_header", str(place), "--write") == 0
    for written, kept in (
        (place, arch_header.header_path()),
        (tmp_path / NAME, arch_header.header_path().with_name(NAME)),
    ):
        assert written.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")


def test_run_as_a_program_each_command_says_that_its_files_are_up_to_date() -> None:
    for module in ("arch_header", "ops"):
        command = [sys.executable, "-m", f"ckgen.emit.{module}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
