"""The kernel that a name means is kept between runs as data, and looked for anew where that is damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckgen.build.kept import keep
from ckgen.specs.archs import load_archs
from ckgen_emulator import choose
from ckgen_emulator.gemm.kernel import GemmKernel
from plan_support import GFX942, LARGE, row, write_table

NAME = f"gemm_fp8_fnuz_bf16_rcr_blockscale_ck_{LARGE.removeprefix('a8w8_blockscale_')}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a cache that one run has filled."""
    folder = tmp_path_factory.mktemp("choose")
    write_table(folder / "tables" / "a8w8_blockscale_tuned_gemm.csv", [row(128)])
    return folder


def choose_one(folder: Path) -> GemmKernel:
    return choose.choose_kernel(NAME, GFX942, choose.Place((folder / "tables",)), load_archs(), folder / "cache")


@pytest.fixture(scope="module")
def first(folder: Path) -> GemmKernel:
    return choose_one(folder)


@pytest.fixture
def place(first: GemmKernel, folder: Path) -> Path:
    (found,) = (folder / "cache" / "plans").iterdir()
    return found


@pytest.fixture
def anew(first: GemmKernel, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has the glob of each kernel that had to be looked for."""
    asked: list[str] = []

    def answer(glob: str, *_: object) -> choose.Chosen:
        asked.append(glob)
        return first.instance, first.uses

    monkeypatch.setattr(choose, "_choose", answer)
    return asked


def test_a_kernel_is_kept_with_all_that_it_is(first: GemmKernel, folder: Path, anew: list[str]) -> None:
    assert first.instance.name == NAME and first.instance.table_kernel == LARGE and first.uses
    assert choose_one(folder) == first and anew == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"garbage",
        lambda data: b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x0ctouch PLANTED\x85R.",  # a pickle with a command
        lambda data: data[:-9],
        lambda data: data.replace(b"gfx942", b"gfx950"),
        lambda data: data.replace(b"_kernel/4", b"_kernel/3"),
    ],
)
def test_a_damaged_file_is_passed_over_and_mended(
    place: Path, first: GemmKernel, folder: Path, anew: list[str], damage: Callable[[bytes], bytes]
) -> None:
    written = place.read_bytes()
    place.write_bytes(damage(written))
    assert choose_one(folder) == first and anew == [NAME]
    assert place.read_bytes() == written
    assert choose_one(folder) == first and anew == [NAME]


def test_what_is_no_kernel_is_passed_over(place: Path, first: GemmKernel, folder: Path, anew: list[str]) -> None:
    keep(place, "ckgen.emulated_kernel/3", {"arch": "gfx942"})
    assert choose_one(folder) == first and anew == [NAME]
