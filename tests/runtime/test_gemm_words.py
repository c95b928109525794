"""What a GEMM is told beside its tensors."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

from ckgen.families.registry import FAMILIES
from ckgen.runtime.gemm_words import PLAIN, GemmWords, gemm_words
from ckgen.runtime.session import CallWishes

WISHES = len(fields(CallWishes))


def test_a_call_that_says_nothing_says_what_options_and_wishes_have_by_default() -> None:
    call = FAMILIES["gemm"].call
    assert call is not None
    assert call.options_type(*PLAIN[1:-WISHES]) == call.options_type()
    assert CallWishes(*PLAIN[-WISHES:]) == CallWishes()


def test_every_word_has_its_place() -> None:
    names = inspect.signature(gemm_words).parameters
    assert set(names) == set(GemmWords.__annotations__)
    said = [gemm_words(**{name: f"{name}!"}) for name in names]  # type: ignore[arg-type]
    changed = [[i for i, (one, plain) in enumerate(zip(each, PLAIN, strict=True)) if one != plain] for each in said]
    assert sorted(changed) == [[i] for i in range(1, len(PLAIN))]


def test_a_word_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'epilogs'"):
        gemm_words(epilogs=("relu",))  # type: ignore[call-arg]
