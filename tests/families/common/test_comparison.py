"""What a comparison costs: nothing but itself."""

from __future__ import annotations

import numpy as np
import pytest

from ckgen.families.common.comparison import Expected, compare
from ckgen.families.common.sensitivity import Sensitivity


def test_a_comparison_does_not_work_out_how_small_an_error_it_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(Sensitivity, "of", lambda *given: asked.append(given))
    expected = Expected(np.ones((1, 2, 2)), np.zeros((1, 2, 2)))
    assert compare(expected, expected.c).ok and expected.excess(expected.c) == 0
    assert not asked
    assert expected.sensitivity is None and len(asked) == 1
