"""Libraries that are built for another machine: what lies in the folder is what was built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckgen.measure import library
from ckgen.measure.library import Contents, carried_library, digest_of
from ckgen.model.errors import InputError


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that stands for a library, as one lies in a folder of --work."""
    place = tmp_path / "key"
    place.mkdir()
    monkeypatch.setattr(library, "_key", lambda contents: "key")
    file = place / "libbench.so"
    file.write_bytes(b"code")
    (place / "library.json").write_text(json.dumps({"library": file.name, "digest": digest_of(file)}))
    return file


def found(folder: Path) -> Path | None:
    contents: Contents = None  # type: ignore[assignment]  # of which only the key is asked
    return carried_library(contents, folder)


def test_a_library_is_found_where_it_was_built(carried: Path) -> None:
    assert found(carried.parents[1]) == carried


def test_a_folder_without_one_has_none(carried: Path) -> None:
    (carried.parent / "library.json").unlink()
    assert found(carried.parents[1]) is None


@pytest.mark.parametrize("data", [b"code ", None])
def test_another_file_or_none_is_refused(carried: Path, data: bytes | None) -> None:
    carried.unlink()
    if data is not None:
        carried.write_bytes(data)
    with pytest.raises(InputError, match=r"B005.*not the library that was built there.*[0-9a-f]{8}"):
        found(carried.parents[1])
