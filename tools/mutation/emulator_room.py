"""The emulator's core: C++ that Python compiles on demand, and the tests that run machine code on it."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from .bounded import Ended, Limit, run
from .cpp_source import cpp_mutant, cpp_sites
from .mutant import Fate, Mutant, Outcome, Site
from .relevance import most_related_first, related

_CORE = "emulator/ckgen_emulator/core"
_TESTS = "tests/emulator"
_CACHE = Path(".cache-of-mutants")
_COMPILE = (sys.executable, "-c", "from ckgen_emulator.core_library import core_library; print(core_library())")
_FLAGS = "-O1 -w -D_GLIBCXX_ASSERTIONS -fsanitize=bounds-strict -fsanitize-undefined-trap-on-error"
"""An index beyond an array ends the process, where a plain build would read or write what lies beside it."""
_PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-x",
    "-q",
    "-m",
    "not slow",
    "-p",
    "no:cacheprovider",
    "--hypothesis-seed=0",
)
_PASSED, _NONE = 0, 5
_LEFT_OUT = (
    "test_asm_fmha",
    "test_asm_gemm",
    "test_asm_moe",
    "test_execution_check",
    "test_mutations",
    "test_mxfp8_moe",
)
"""Slow, and of host code or of the choice of problems rather than of the core."""


@dataclass(slots=True)
class EmulatorRoom:
    """See `Room`. Test files that share a word with the changed file run first, the others after them, quick ones
    before slow ones. GPU code comes from the user's cache, the core from one of its own."""

    name: str = "emulator"
    _seconds: dict[str, float] = field(default_factory=dict)
    """Of each test file."""
    _limit: Limit = field(default_factory=lambda: Limit(0, 0))
    _unmutated: bytes = b""
    """The core as it is compiled."""

    def sites(self, tree: Path) -> Sequence[Site]:
        return cpp_sites(tree, [_CORE])

    def mutate(self, tree: Path, site: Site) -> Mutant | None:
        return cpp_mutant(tree, site)

    def prepare(self, tree: Path) -> None:
        _link_cache(tree / _CACHE)
        compiled = run(_COMPILE, tree, _environment(tree))
        if compiled.status != 0:
            raise RuntimeError(compiled.output)
        self._unmutated = _core(compiled)
        with TemporaryDirectory() as folder:
            report = Path(folder, "tests.xml")
            left_out = [f"--ignore={_TESTS}/{name}.py" for name in _LEFT_OUT]
            done = _pytest(tree, [_TESTS], None, *left_out, f"--junitxml={report}", "-o", "junit_family=xunit1")
            if done.status != _PASSED:
                raise RuntimeError(f"the tests of {self.name} fail on the unmutated source:\n{done.output[-4000:]}")
            for case in ElementTree.parse(report).iter("testcase"):
                file = case.attrib["file"]
                self._seconds[file] = self._seconds.get(file, 0) + float(case.attrib["time"])
        self._limit = Limit.of(done)

    def judge(self, tree: Path, mutant: Mutant) -> Outcome:
        compiled = run(_COMPILE, tree, _environment(tree))
        if compiled.status != 0 or _core(compiled) == self._unmutated:
            return Outcome(Fate.INVALID)
        for files in self._in_order(mutant.site.key.file):
            done = _pytest(tree, files, self._limit)
            if not done.in_time:
                return Outcome(Fate.TIMEOUT, f"{done.processor:.0f} s of processor time")
            if done.status not in (_PASSED, _NONE):
                found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.output, re.MULTILINE)
                return Outcome(Fate.KILLED, found[1] if found else f"pytest ended with {done.status}")
        return Outcome(Fate.SURVIVED)

    def _in_order(self, changed: str) -> list[list[str]]:
        order = most_related_first(changed, list(self._seconds), self._seconds)
        first = [file for file in order if related(changed, file)]
        return [group for group in (first, order[len(first) :]) if group]


def _core(compiled: Ended) -> bytes:
    """The library that `_COMPILE` names."""
    return Path(compiled.output.split()[-1]).read_bytes()


def _pytest(tree: Path, files: Sequence[str], limit: Limit | None, *options: str) -> Ended:
    try:
        return run([*_PYTEST, *options, *files], tree, _environment(tree), limit)
    finally:
        shutil.rmtree(tree / ".hypothesis", ignore_errors=True)  # examples of one mutant are not for the next


def _environment(tree: Path) -> Mapping[str, str]:
    return {
        "CKGEN_CACHE": str(tree / _CACHE),
        "CKGEN_EMULATOR_FLAGS": _FLAGS,
        "CCACHE_BASEDIR": str(tree),
        "PYTHONPATH": f"{tree}/codegen:{tree}/emulator",
    }


def _link_cache(folder: Path) -> None:
    """The user's cache, but for the emulator's core."""
    from ckgen.build.packages.place import cache_dir

    folder.mkdir()
    real = cache_dir()
    (real / "build").mkdir(parents=True, exist_ok=True)
    for entry in real.iterdir():
        if entry.name != "emulator":
            (folder / entry.name).symlink_to(entry)
