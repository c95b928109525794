from __future__ import annotations

import pytest

from ckgen.families.registry import FAMILIES
from ckgen.fuzz.check import Checker
from ckgen.fuzz.prepare import inputs_of
from ckgen.fuzz.run import Subject
from ckgen.fuzz.space import Space
from ckgen.runtime import RuntimeLibrary
from runtime_build import load_generated

NAME = "fuzzed"


@pytest.fixture(scope="session")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """What `ckgen fuzz` prepares, built by the tests' own means."""
    folder = tmp_path_factory.mktemp("fuzz")
    inputs = inputs_of(FAMILIES, folder)
    space = inputs.space()
    load_generated(space.plan, NAME, folder)
    return Subject(folder / f"lib{NAME}_runtime.so", NAME, inputs, space)


@pytest.fixture(scope="session")
def checker(subject: Subject) -> Checker:
    return Checker(subject.space, RuntimeLibrary(subject.library), subject.name)


@pytest.fixture(scope="session")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Space:
    """All of op fmha that cases are drawn from."""
    return inputs_of(("fmha",), tmp_path_factory.mktemp("attention")).space()
