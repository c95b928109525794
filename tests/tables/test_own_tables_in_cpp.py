"""A library that is generated of a table of ckgen's own answers rows of every op in C++ as Python does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_own_tables import CPU, ROWS, plan, table

from ckgen.families.common.policy import MPolicy
from ckgen.fuzz.decide import decide
from ckgen.fuzz.operations import operation_of
from ckgen.fuzz.space import Space
from ckgen.model.selection import Tier
from ckgen.plan.model import GenerationPlan
from ckgen.runtime import Options, RuntimeLibrary
from ckgen.specs.archs import load_archs
from ckgen.tune.problems import Key, case_of, signature_of
from runtime_build import load_generated


def answers(found: GenerationPlan, library: RuntimeLibrary, name: str, key: Key) -> tuple[str, str | None, str]:
    """C++'s tier and instance, and Python's tier."""
    case, signature = case_of(key, CPU), signature_of(key.signature)
    decision = decide(Space(found, load_archs()), case, signature, library.fmha_split)
    asked = operation_of(signature).work(case, decision).problem(library)
    dispatcher = library.dispatcher([name], Options())
    choice = dispatcher.select(asked, library.simulated(str(CPU)))
    return str(choice.tier), choice.instance, str(decision.selection.tier)


@pytest.mark.slow
@pytest.mark.cpp
def test_rows_of_every_op_answer_exactly(tmp_path: Path) -> None:
    """Also where a policy of the peer's answers for signatures that the peer has."""
    signatures = tuple(sorted({key.signature for key, _ in ROWS}))
    found = plan(table(tmp_path / "own.csv", *ROWS), signatures=signatures, m_policy=MPolicy.AITER)
    name = "own_tables"
    library = load_generated(found, name, tmp_path)
    for key, kernel in ROWS:
        assert answers(found, library, name, key) == (Tier.EXACT.value, kernel, Tier.EXACT.value), key
    for key, kernel in ROWS[2:5]:
        below = replace(key, m=key.m - 4, sizes="")
        assert answers(found, library, name, below) == (Tier.NEAR.value, kernel, Tier.NEAR.value), key
