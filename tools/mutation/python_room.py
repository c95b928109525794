"""A room of the Python package: its source, and its own tests under pytest."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from .bounded import Ended, Limit, run
from .mutant import Fate, Mutant, Outcome, Site
from .python_imports import can_reach
from .python_source import python_mutant, python_sites

_PASSED, _FAILED, _INTERRUPTED, _NONE = 0, 1, 2, 5
"""Exit codes of pytest; 2 also stands for modules of tests that cannot be imported."""


@dataclass(slots=True)
class PythonRoom:
    """See `Room`. Test files that name the mutated module run first, of the rest the quick ones, and tests marked slow
    only if all others pass; those that cannot import it do not run."""

    name: str
    source: str
    """A folder, relative to the repository."""
    tests: Sequence[str]
    _files: list[str] = field(default_factory=list)
    """Of tests, the quickest first."""
    _limit: Limit = field(default_factory=lambda: Limit(0, 0))

    def sites(self, tree: Path) -> Sequence[Site]:
        files = sorted(path.relative_to(tree).as_posix() for path in (tree / self.source).rglob("*.py"))
        return python_sites(tree, files)

    def mutate(self, tree: Path, site: Site) -> Mutant | None:
        return python_mutant(tree, site)

    def prepare(self, tree: Path) -> None:
        where = _python(tree, "-c", "import ckgen; print(ckgen.__file__)").output.strip()
        if not Path(where).is_relative_to(tree):
            raise RuntimeError(f"the copy's codegen/ is not what is imported, but {where}")
        with TemporaryDirectory() as folder:
            report = Path(folder, "tests.xml")
            done = _python(tree, *_PYTEST, f"--junitxml={report}", "-o", "junit_family=xunit1", *self.tests)
            if done.status != _PASSED:
                raise RuntimeError(f"the tests of {self.name} fail on the unmutated source:\n{done.output[-4000:]}")
            self._files = _quickest_first(report)
        self._limit = Limit.of(done)
        print(f"{self.name}: unmutated {done.clock:.0f} s", file=sys.stderr, flush=True)

    def judge(self, tree: Path, mutant: Mutant) -> Outcome:
        for marker, files in self._stages(tree, mutant.site.key.file):
            done = _python(tree, *_PYTEST, "-x", "-m", marker, *files, limit=self._limit)
            shutil.rmtree(tree / ".hypothesis", ignore_errors=True)  # examples of one mutant are not for the next
            if not done.in_time:
                return Outcome(Fate.TIMEOUT, f"{done.processor:.0f} s of processor time")
            if done.status in (_FAILED, _INTERRUPTED):
                return Outcome(Fate.KILLED, _first_failure(done.output))
            if done.status not in (_PASSED, _NONE):
                return Outcome(Fate.KILLED, f"pytest ended with {done.status}")
        return Outcome(Fate.SURVIVED)

    def _stages(self, tree: Path, file: str) -> list[tuple[str, list[str]]]:
        """What runs one after another: the tests marked so, of these files."""
        module = _module(file)
        texts = {test: (tree / test).read_text(encoding="utf-8") for test in self._files if can_reach(tree, test, file)}
        near = [test for test, text in texts.items() if module in text]
        far = [test for test in texts if test not in near]
        marked = [test for test, text in texts.items() if "mark.slow" in text]
        return [stage for stage in (("not slow", near), ("not slow", far), ("slow", marked)) if stage[1]]


_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0")


def _python(tree: Path, *arguments: str, limit: Limit | None = None) -> Ended:
    """Runs this Python in the tree with its packages first."""
    return run([sys.executable, *arguments], tree, {"PYTHONPATH": f"{tree}/codegen:{tree}/emulator"}, limit)


def _module(file: str) -> str:
    """`ckgen.plan.model` of codegen/ckgen/plan/model.py."""
    return ".".join(Path(file).with_suffix("").parts[1:]).removesuffix(".__init__")


def _quickest_first(report: Path) -> list[str]:
    seconds: dict[str, float] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        seconds[case.attrib["file"]] = seconds.get(case.attrib["file"], 0) + float(case.attrib["time"])
    return sorted(seconds, key=lambda file: seconds[file])


def _first_failure(output: str) -> str:
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return found[1] if found else output.strip().splitlines()[-1]
