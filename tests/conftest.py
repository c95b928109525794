"""What every test may use: golden files, and the profiles of Hypothesis."""

from __future__ import annotations

import difflib
import gc
import os
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import examples  # noqa: F401  registers the profiles of Hypothesis and loads `recorded`

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported: a process per CPU runs tests already

os.environ.setdefault("CKGEN_PROGRESS_SECONDS", "0")  # what is said does not depend on how busy the machine is

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="rewrite tests/golden/ with what the tests produce")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Of workers that collect all at once every other one begins with the last room: whatever one has rewritten the
    others read."""
    if int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 2:
        session.config.args[:] = [room for path in session.config.args for room in reversed(_rooms(path))]


def _rooms(path: str) -> list[str]:
    """What pytest collects in the folder of all tests, one by one; another path is taken as it is."""
    if Path(path).resolve() != Path(__file__).parent:
        return [path]
    entries = sorted(Path(path).iterdir())
    return [str(one) for one in entries if (one.is_dir() or one.match("test_*.py")) and one.name != "__pycache__"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Python's collector of cycles neither runs while tests are made nor ever looks at them again: they all stay.

    Then it runs more seldom than by default: what caches hold of plans of all tables takes it long to look through.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000, 50, 50)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """What caches hold to the end is looked through once: pytest collects ten times for what tests left behind."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files with the most slow tests first, of equal ones by path: workers that get whole files are then done together,
    and all have one order, wherever they began. Tests in a browser and long ones run where -m names them."""
    for name in {"browser", "long"} - set(config.option.markexpr.split()):
        away = [item for item in items if item.get_closest_marker(name)]
        items[:] = [item for item in items if item not in away]
        config.hook.pytest_deselected(items=away)
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (-slow[item.path], item.path.parts))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` fails with a diff unless `text` is what tests/golden/<name> holds."""
    update = bool(request.config.getoption("--update-goldens"))
    return lambda name, text: compare_golden(GOLDEN / name, text, update=update)


def compare_golden(path: Path, text: str, *, update: bool) -> None:
    """Compares byte for byte; with `update`, makes the file hold `text`."""
    data = text.encode()
    if update:
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return
    if not path.exists():
        pytest.fail(f"no golden file {path}; create it: pytest --update-goldens", pytrace=False)
    expected = path.read_bytes()
    if expected != data:
        old, new = expected.decode().splitlines(keepends=True), text.splitlines(keepends=True)
        diff = "".join(difflib.unified_diff(old, new, f"golden/{path.name}", "produced"))
        pytest.fail(f"{path} differs (accept: pytest --update-goldens)\n{diff}", pytrace=False)
