"""The golden fixture itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def compares(request: pytest.FixtureRequest) -> None:
    """These tests are about comparing: a run that rewrites goldens passes them over."""
    if request.config.getoption("--update-goldens"):
        pytest.skip("rewriting goldens")


def test_equal_text_passes(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    (tmp_path / "x.txt").write_bytes("é\r\n".encode())
    golden(f"{tmp_path}/x.txt", "é\r\n")


def test_other_text_fails_with_a_diff(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    (tmp_path / "x.txt").write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match=r"(?s)--update-goldens.*-two\n\+three"):
        golden(f"{tmp_path}/x.txt", "one\nthree\n")
    assert (tmp_path / "x.txt").read_text(encoding="utf-8") == "one\ntwo\n"


def test_a_missing_golden_fails(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    with pytest.raises(pytest.fail.Exception, match="no golden file"):
        golden(f"{tmp_path}/x.txt", "")
