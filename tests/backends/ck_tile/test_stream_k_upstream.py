"""The reproducer of docs/upstream/ck_tile_stream_k.md: what it says is what the emulator finds in the pinned tree.

That it finds such hand-overs, tests/emulator/test_stream_k.py shows of our own kernel in every run.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from amd_support import code_object_of
from commands import as_json
from cpp_build import ROOT

pytestmark = [pytest.mark.amd, pytest.mark.long]

UPSTREAM = ROOT / "docs" / "upstream"
LAUNCH = UPSTREAM / "ck_tile_stream_k.yaml"


@cache
def code_object() -> Path:
    """The reproducer, compiled for gfx942 as the build compiles units, and kept in its cache."""
    text = (UPSTREAM / "ck_tile_stream_k.hip").read_text("utf-8")
    return code_object_of("ck_tile's stream-K", "ck_tile", "gfx942", text)


def emulated(launch: Path, folder: Path, seed: int) -> tuple[list[str], np.ndarray]:
    """What is found, in words, and C; A and B are ones."""
    words = ["emulate", "--code-object", code_object(), "--kernel", "stream_k", "--args", launch]
    document = as_json(*map(str, words), "--seed", str(seed), "--outputs", str(folder), code=1)
    found = {one["rule"] for one in document["findings"]}
    assert found <= {"global_race", "out_of_bounds", "uninitialised"}  # as it lies, another array is behind A
    said = [one["what"] for one in document["findings"]]
    return said, np.load(folder / "c.npy")


def test_the_flag_goes_up_too_early_and_the_reader_does_not_acquire(tmp_path: Path) -> None:
    plain, _ = emulated(LAUNCH, tmp_path, 0)
    assert all("the acquire has no buffer_inv sc1" in one for one in plain)
    adversary, c = emulated(LAUNCH, tmp_path, 1)
    assert any("the release came before that access was complete" in one for one in adversary)
    assert not (c == 512).all()


def test_the_last_part_of_a_tile_goes_on_behind_k(tmp_path: Path) -> None:
    text = LAUNCH.read_text("utf-8").replace("512", "520")
    (tmp_path / "tail.yaml").write_text(text, "utf-8")
    _, c = emulated(tmp_path / "tail.yaml", tmp_path, 0)
    assert (c > 520).any()
