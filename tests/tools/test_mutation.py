"""Mutants are drawn alike by every run, live in a copy, and are counted as they are judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ckgen import paths
from mutation import campaign as campaigns
from mutation import equivalents
from mutation.campaign import Campaign, campaign, drawn, named
from mutation.mutant import Fate, Key, Mutant, Outcome, Site, changed_line, numbered
from mutation.python_imports import can_reach
from mutation.report import campaign_json, campaign_text
from mutation.tree import applied

LINES = [f"value_{at} = {at}" for at in range(30)]
SITES = numbered(("code.py", "Number", line, at + 1, 0) for at, line in enumerate(LINES))


@dataclass
class NumberedRoom:
    """Kills mutants of even lines; those of lines divisible by 5 do not compile."""

    name: str = "numbers"
    judged: list[int] = field(default_factory=list)

    def sites(self, tree: Path) -> Sequence[Site]:
        return SITES

    def mutate(self, tree: Path, site: Site) -> Mutant | None:
        text = "\n".join(LINES).replace(site.key.line, f"{site.key.line}0", 1)
        return Mutant(site, site.key.line, f"{site.key.line}0", text)

    def prepare(self, tree: Path) -> None:
        assert (tree / "code.py").read_text() == "\n".join(LINES)

    def judge(self, tree: Path, mutant: Mutant) -> Outcome:
        assert (tree / "code.py").read_text() == mutant.text
        self.judged.append(mutant.site.line)
        if mutant.site.line % 5 == 0:
            return Outcome(Fate.INVALID)
        return Outcome(Fate.KILLED, "a test") if mutant.site.line % 2 == 0 else Outcome(Fate.SURVIVED)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "code.py").write_text("\n".join(LINES))

    @contextmanager
    def here() -> Iterator[Path]:
        yield tmp_path

    monkeypatch.setattr(campaigns, "scratch_tree", here)
    monkeypatch.setattr(equivalents, "FOLDER", tmp_path)
    return tmp_path


def run(room: NumberedRoom, count: int, *only: str) -> Campaign:
    return campaign(room, 1, count, frozenset(only), lambda verdict: None)


def test_a_draw_is_without_replacement_and_by_seed() -> None:
    assert drawn(SITES, 1) == drawn(SITES[::-1], 1) != drawn(SITES, 2)
    assert sorted(drawn(SITES, 1), key=lambda site: site.line) == SITES
    fewer = [site for site in SITES if site.line != 7]
    assert drawn(fewer, 1) == [site for site in drawn(SITES, 1) if site.line != 7]


def test_equal_changes_of_equal_lines_are_told_apart() -> None:
    found = numbered([("a.py", "Op", "  x = 1", 1, 2), ("a.py", "Op", "x = 1 ", 5, 0), ("b.py", "Op", "x = 1", 1, 0)])
    assert [(site.key.file, site.key.line, site.key.occurrence) for site in found] == [
        ("a.py", "x = 1", 0), ("a.py", "x = 1", 1), ("b.py", "x = 1", 0),
    ]  # fmt: skip
    assert changed_line("a\n b = 1\nc", "a\n b = 2\nc") == ("b = 1", "b = 2")


def test_a_mutant_is_taken_back_and_what_was_built_from_either_text_is_older(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text("old")
    before = path.stat().st_mtime
    with applied(tmp_path, Mutant(Site(Key("code.py", "Op", "old", 0), 1, 0), "old", "new", "new")):
        assert path.read_text() == "new"
        during = path.stat().st_mtime
    assert path.read_text() == "old"
    assert int(before) < during < path.stat().st_mtime
    with (
        pytest.raises(KeyboardInterrupt),
        applied(tmp_path, Mutant(Site(Key("code.py", "Op", "old", 0), 1, 0), "old", "new", "new")),
    ):
        raise KeyboardInterrupt
    assert path.read_text() == "old"


def test_what_does_not_compile_is_drawn_again_and_figures_are_of_the_rest(tree: Path) -> None:
    room = NumberedRoom()
    result = run(room, 10)
    order = [site.line for site in drawn(SITES, 1)]
    valid = [line for line in order if line % 5][:10]
    assert room.judged == order[: order.index(valid[-1]) + 1]
    assert [verdict.mutant.site.line for verdict in result.verdicts] == valid
    assert result.killed == sum(line % 2 == 0 for line in valid)
    assert result.percentage == 100 * result.killed / 10
    assert result.invalid == campaign_json(result)["invalid"] == len(room.judged) - 10 > 0
    assert f"drawn 10 of 30, invalid {result.invalid}, " in campaign_text(result)
    assert (tree / "code.py").read_text() == "\n".join(LINES)


def listed(tree: Path, *lines: int, becomes: str = "0") -> None:
    entries = [
        {"file": "code.py", "operator": "Number", "line": LINES[at - 1], "occurrence": 0,
         "becomes": f"{LINES[at - 1]}{becomes}", "reason": "r"}
        for at in lines
    ]  # fmt: skip
    (tree / "numbers.json").write_text(json.dumps(entries))


def test_equivalents_are_neither_judged_nor_counted(tree: Path) -> None:
    odd = [line for line in (site.line for site in drawn(SITES, 1)) if line % 5][:10]
    survivors = [line for line in odd if line % 2]
    listed(tree, *survivors)
    room = NumberedRoom()
    result = run(room, 10)
    assert result.count(Fate.EQUIVALENT) == len(survivors) and not set(survivors) & set(room.judged)
    assert result.percentage == 100.0 and result.stale == ()
    assert f"equivalent {len(survivors)}, killed {10 - len(survivors)} (0 by time), survived 0" in campaign_text(result)


def test_an_equivalent_that_is_no_mutant_any_more_is_told(tree: Path) -> None:
    listed(tree, 3, becomes="1")
    result = run(NumberedRoom(), 1)
    assert [key.line for key in result.stale] == [LINES[2]]
    assert campaign_text(result).splitlines()[1] == f"listed as equivalent, but no mutant: {SITES[2].key}"
    assert campaign_json(result)["stale"] == [str(SITES[2].key)]
    listed(tree, 3, 3)
    with pytest.raises(ValueError, match="listed twice"):
        run(NumberedRoom(), 1)


def test_single_mutants_are_judged_by_name(tree: Path) -> None:
    result = run(NumberedRoom(), 40, named(SITES[3].key))
    assert [verdict.mutant.site.line for verdict in result.verdicts] == [4]
    assert result.verdicts[0].name == named(SITES[3].key)


def test_what_is_listed_as_equivalent_is_a_line_of_its_file_with_a_reason() -> None:
    files = sorted(equivalents.FOLDER.glob("*.json"))
    assert files
    for file in files:
        for key, entry in equivalents.load(file.stem).items():
            lines = (paths.root() / key.file).read_text(encoding="utf-8").splitlines()
            assert key.line in map(str.strip, lines), f"{file.name}: {key}"
            assert entry.becomes != key.line and len(entry.reason) > 20, f"{file.name}: {key}"


def test_a_test_file_reaches_what_it_imports_at_any_depth(tmp_path: Path) -> None:
    texts = {
        "codegen/pack/__init__.py": "",
        "codegen/pack/a.py": "def f():\n    from pack.b import x\n",
        "codegen/pack/b.py": "",
        "codegen/pack/c.py": "",
        "emulator/other/__init__.py": "import subprocess\nimport pack.c\n",
        "tests/helper.py": "import pack.a",
        "tests/r/test_a.py": "from helper import y",
        "tests/r/test_b.py": "import subprocess",
        "tests/r/test_c.py": "",
        "tests/r/test_d.py": "import other",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def reached(test: str) -> set[str]:
        files = [f"codegen/pack/{name}.py" for name in ("__init__", "a", "b", "c")]
        return {file[-4:-3] for file in files if can_reach(tmp_path, f"tests/r/test_{test}.py", file)}

    assert (reached("a"), reached("b"), reached("c")) == ({"_", "a", "b"}, {"_", "a", "b", "c"}, set())
    assert reached("d") == {"_", "c"}
