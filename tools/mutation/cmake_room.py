"""A room of the C++ library: its source, and the programs and Python tests that are its own."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .bounded import Ended, Limit, run
from .cpp_source import cpp_mutant, cpp_sites
from .mutant import Fate, Mutant, Outcome, Site
from .relevance import most_related_first

_BUILD = Path("build/mutation")
_LIBRARY = ("ckgen_dispatcher_static", "ckgen_mock_hip")
_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DCKGEN_HOST_OPTIMISATION=-O1",
    "-DCMAKE_CXX_FLAGS=-w", "-DCKGEN_WERROR=OFF", "-DCKGEN_UNITY_BUILD=OFF",
    "-DCKGEN_BUILD_HIP_SHIM=OFF", "-DCKGEN_BUILD_TESTS=ON",
    "-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST",
)  # fmt: skip
"""As the preset `ci`, but quick to compile."""
_FIRST, _MORE = 4, 10
"""Files of tests that are compiled and run together: the most related ones, and then as many of the others."""


@dataclass(frozen=True, slots=True)
class _Program:
    """A program of GoogleTest: how it is linked, and of what."""

    target: str
    link: tuple[str, ...]
    """Without tests, and with `OUTPUT` for the program."""
    tests: tuple[str, ...]
    """Objects, one for each file of tests, relative to the build folder."""
    limit: Limit


@dataclass(slots=True)
class CMakeRoom:
    """See `Room`. Of `programs`, the files most related to the changed one are compiled and run first, `python`
    last; the first failure ends it."""

    name: str
    folders: Sequence[str]
    programs: Sequence[str]
    python: Sequence[str] = ()
    """Python tests over the library of the build folder."""
    _programs: list[_Program] = field(default_factory=list)
    _python_limit: Limit = field(default_factory=lambda: Limit(0, 0))

    def sites(self, tree: Path) -> Sequence[Site]:
        return cpp_sites(tree, self.folders)

    def mutate(self, tree: Path, site: Site) -> Mutant | None:
        return cpp_mutant(tree, site)

    def prepare(self, tree: Path) -> None:
        _good(_run(tree, "cmake", "-S", tree, "-B", ".", "-G", "Ninja", *_OPTIONS))
        for target in self.programs:
            _good(_built(tree, target))
            done = _good(_run(tree, f"ckgen/dispatcher_cpp/tests/{target}", "--gtest_brief=1"))
            self._programs.append(_program(tree, target, Limit.of(done)))
        if self.python:
            self._python_limit = Limit.of(_good(_pytest(tree, self.python)))

    def judge(self, tree: Path, mutant: Mutant) -> Outcome:
        if _built(tree, *_LIBRARY).status != 0:
            return Outcome(Fate.INVALID)
        for program, tests in self._batches(mutant.site.key.file):
            if _built(tree, *tests).status != 0:
                return Outcome(Fate.INVALID)
            if outcome := _verdict(_tested(tree, program, tests), program.target):
                return outcome
        if self.python and (outcome := _verdict(_pytest(tree, self.python, self._python_limit), "pytest")):
            return outcome
        return Outcome(Fate.SURVIVED)

    def _batches(self, changed: str) -> Iterator[tuple[_Program, Sequence[str]]]:
        for program in self._programs:
            order = most_related_first(changed, program.tests)
            yield program, order[:_FIRST]
        for program in self._programs:
            order = most_related_first(changed, program.tests)[_FIRST:]
            for begin in range(0, len(order), _MORE):
                yield program, order[begin : begin + _MORE]


def _program(tree: Path, target: str, limit: Limit) -> _Program:
    commands = _good(_run(tree, "ninja", "-t", "commands", target)).output.splitlines()
    words = [word for word in shlex.split(commands[-1]) if word not in (":", "&&")]
    tests = tuple(word for word in words if Path(word).name.startswith("test_") and word.endswith(".o"))
    link = ("OUTPUT" if before == "-o" else word for before, word in zip(["", *words], words, strict=False))
    return _Program(target, tuple(word for word in link if word not in tests), tests, limit)


def _tested(tree: Path, program: _Program, tests: Sequence[str]) -> Ended:
    made = "ckgen/dispatcher_cpp/tests/of_a_mutant"
    words = [made if word == "OUTPUT" else word for word in program.link]
    output = words.index("-o")
    _good(_run(tree, *words[:output], *tests, *words[output:]))
    return _run(tree, made, "--gtest_fail_fast", "--gtest_brief=1", limit=program.limit)


def _verdict(done: Ended, who: str) -> Outcome | None:
    """None if all tests passed."""
    if not done.in_time:
        return Outcome(Fate.TIMEOUT, f"{who}: {done.processor:.0f} s of processor time")
    if done.status == 0:
        return None
    found = re.search(r"^(?:\[  FAILED  \]|FAILED|ERROR) ([^\s,]+)", done.output, re.MULTILINE)
    return Outcome(Fate.KILLED, found[1] if found else f"{who} ended with {done.status}")


def _built(tree: Path, *targets: str) -> Ended:
    return _run(tree, "ninja", f"-j{os.cpu_count() or 1}", *targets)


def _pytest(tree: Path, tests: Sequence[str], limit: Limit | None = None) -> Ended:
    files = [tree / test for test in tests]
    return _run(tree, sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files, limit=limit)


def _run(tree: Path, *command: str | Path, limit: Limit | None = None) -> Ended:
    (tree / _BUILD).mkdir(parents=True, exist_ok=True)
    environment: Mapping[str, str] = {
        "CCACHE_BASEDIR": str(tree),
        "CKGEN_TEST_BUILD": str(tree / _BUILD),
        "PYTHONPATH": f"{tree}/codegen:{tree}/emulator",
    }
    return run(command, tree / _BUILD, environment, limit)


def _good(done: Ended) -> Ended:
    if done.status != 0:
        raise RuntimeError(f"the unmutated source does not pass:\n{done.output[-4000:]}")
    return done
