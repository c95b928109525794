"""What is kept between runs is believed only as it was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckgen.build.kept import keep, kept

VALUE = {"name": "a \udc80 b", "list": [1, 2.5, None, True]}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    keep(tmp_path / "deep" / "one.json", "ckgen.x/1", VALUE)
    return tmp_path / "deep" / "one.json"


def test_what_was_kept_comes_back(place: Path) -> None:
    assert kept(place, "ckgen.x/1") == VALUE
    keep(place, "ckgen.x/1", [])
    assert kept(place, "ckgen.x/1") == [] and [*place.parent.iterdir()] == [place]


@pytest.mark.parametrize("length", [0, 1, 9, 40, 75, 90, -1])
def test_a_file_that_was_cut_short_is_none(place: Path, length: int) -> None:
    place.write_bytes(place.read_bytes()[:length])
    assert kept(place, "ckgen.x/1") is None


def test_no_bit_can_be_flipped(place: Path) -> None:
    data = place.read_bytes()
    for at in range(len(data)):
        place.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert kept(place, "ckgen.x/1") is None, at


@pytest.mark.parametrize("data", [b"\0" * 99, b"\n", b"{}", json.dumps(VALUE).encode(), b"[" * 9999, b"\x80\x04."])
def test_garbage_is_none(place: Path, data: bytes) -> None:
    place.write_bytes(data)
    assert kept(place, "ckgen.x/1") is None


def test_another_version_and_a_file_that_is_not_there_are_none(place: Path) -> None:
    assert kept(place, "ckgen.x/2") is None and kept(place.parent, "ckgen.x/1") is None
    place.unlink()
    assert kept(place, "ckgen.x/1") is None
