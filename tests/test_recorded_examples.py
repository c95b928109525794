"""Examples of properties: recorded by default, fresh ones on demand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROPERTY = """
from pathlib import Path
from examples import examples
from hypothesis import given, settings, strategies as st

@settings(max_examples=examples(4))
@given(st.integers())
def test_property(number: int) -> None:
    with Path("drawn").open("a") as file:
        print(number, file=file)
"""


def drawn(folder: Path, *options: str) -> list[str]:
    folder.mkdir()
    (folder / "conftest.py").write_text("import examples")
    (folder / "test_property.py").write_text(PROPERTY)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "hypothesis", *options]
    environment = {"PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return (folder / "drawn").read_text().split()


def test_recorded_examples_are_the_same_in_every_run(tmp_path: Path) -> None:
    first = drawn(tmp_path / "first")
    assert len(first) == 4 and first == drawn(tmp_path / "second")


def test_exploring_draws_fresh_examples_and_more_of_them(tmp_path: Path) -> None:
    first, second = (drawn(tmp_path / name, "--hypothesis-profile", "explore") for name in ("first", "second"))
    assert len(first) == len(second) == 200 and first != second
