"""Pages of reports in headless Chromium: `pytest -m browser`. CKGEN_PICTURES names a folder for what was seen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser_support import Page, chromium, page
from ckgen import paths
from ckgen.cli import cli
from report.test_coverage_report import report
from report.tuning_support import journal_of_a_tune

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BACKGROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
LEAST_CONTRAST = 4.5
_CONTRASTS = Path(__file__).with_name("contrasts.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind, of real tables where there are."""
    from ckgen.report.coverage_page import coverage_page

    folder = tmp_path_factory.mktemp("pages")
    coverage = folder / "coverage.html"
    document = report(*paths.shipped_tables(), ladder=tuple(1 << power for power in range(15)))[0]
    coverage.write_text(coverage_page(document), encoding="utf-8")
    journal = journal_of_a_tune(folder / "journal.jsonl")
    configs = paths.tuning_dir() / "aiter" / "model_configs"
    tables = [configs / f"a8w8_blockscale_tuned_gemm_qwen3_vl_{size}.csv" for size in ("32b", "235b")]
    for command in (
        ["report", "tuning", str(journal), "--out", str(folder / "tuning.html")],
        ["diff", *map(str, tables), "--quiet", "--html", str(folder / "diff.html")],
    ):
        cli.main(command, standalone_mode=False)
    return {name: folder / f"{name}.html" for name in ("coverage", "tuning", "diff")}


@pytest.fixture(scope="module")
def opened() -> Iterator[Page]:
    program = chromium()
    if program is None:
        pytest.fail("no Chromium: apt-get install chromium")
    with page(program) as one:
        yield one


@pytest.mark.parametrize("name", ["coverage", "tuning", "diff"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_readable_in_both_schemes_and_asks_for_nothing(
    pages: dict[str, Path], opened: Page, name: str, scheme: str
) -> None:
    opened.said.clear()
    opened.asked.clear()
    opened.scheme(scheme)
    opened.open(pages[name])
    assert opened.said == []
    assert opened.asked == [pages[name].as_uri()]
    assert opened.value("getComputedStyle(document.body).backgroundColor") == BACKGROUNDS[scheme]
    assert opened.value("document.documentElement.scrollWidth") <= 1400, "nothing hangs out of the page"
    opened.resize(600, 900)
    assert opened.value("document.documentElement.scrollWidth") <= 600, "nor of a narrow one"
    opened.resize(1400, 900)
    poor = [one for one in opened.value(_CONTRASTS) if one[0] < LEAST_CONTRAST]
    assert poor == []
    picture = opened.picture(height=1600)
    assert len(picture) > 20_000
    if os.environ.get("CKGEN_PICTURES"):
        (Path(os.environ["CKGEN_PICTURES"]) / f"{name}_{scheme}.png").write_bytes(picture)


def test_tab_reaches_each_map_once_and_arrows_walk_its_cells(pages: dict[str, Path], opened: Page) -> None:
    opened.open(pages["coverage"])
    maps = opened.value("document.querySelectorAll('.map').length")
    assert maps == opened.value("document.querySelectorAll('.map [tabindex=\"0\"]').length") > 40
    assert opened.value("document.querySelectorAll('.map [tabindex]').length") > 600
    opened.press("Tab")
    assert opened.value("document.activeElement.className") == "skip"
    opened.value("document.querySelector('.map [tabindex=\"0\"]').focus()")
    told = [opened.value("document.activeElement.getAttribute('aria-label')")]
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft"):
        opened.press(key)
        told.append(opened.value("document.activeElement.getAttribute('aria-label')"))
        assert opened.value("document.activeElement.closest('figure').querySelector('.told').textContent") == told[-1]
    assert len(set(told)) == 4 and all(text.startswith("N ") for text in told)
    opened.press("Tab")
    assert opened.value("document.activeElement.closest('.map')") is None, "Tab leaves the map"


def test_what_is_folded_opens_by_a_key(pages: dict[str, Path], opened: Page) -> None:
    opened.open(pages["coverage"])
    opened.value("document.querySelector('figure summary').focus()")
    assert not opened.value("document.querySelector('figure details').open")
    opened.press("Enter")
    assert opened.value("document.querySelector('figure details').open")
