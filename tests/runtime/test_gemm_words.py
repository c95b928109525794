"""What a GEMM, or groups of them, are told beside their tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from ckgen.families.registry import FAMILIES
from ckgen.runtime.gemm_words import PLAIN, GemmWords, GroupedWords, gemm_words, grouped_words
from ckgen.runtime.session import CallWishes

WISHES = len(fields(CallWishes))


def of_three(**words: Any) -> tuple[Any, ...]:
    return grouped_words(3, **words)


def test_a_call_that_says_nothing_says_what_options_and_wishes_have_by_default() -> None:
    call, of_groups = FAMILIES["gemm"].call, FAMILIES["grouped_gemm"].call
    assert call is not None and of_groups is not None
    assert call.options_type(*PLAIN[1:-WISHES]) == call.options_type()
    assert of_groups.options_type(*of_three()[1:-WISHES]) == of_groups.options_type(groups=3)
    assert CallWishes(*PLAIN[-WISHES:]) == CallWishes() == CallWishes(*of_three()[-WISHES:])


@pytest.mark.parametrize(
    ("make", "op", "names", "own"),
    [
        (gemm_words, "gemm", GemmWords.__annotations__.keys(), set()),
        (of_three, "grouped_gemm", GroupedWords.__annotations__.keys(), {"epilogue", "groups"}),
    ],
)
def test_every_word_has_its_place(
    make: Callable[..., tuple[Any, ...]], op: str, names: set[str], own: set[str]
) -> None:
    call = FAMILIES[op].call
    assert call is not None
    order = [one.name for kind in (call.options_type, CallWishes) for one in fields(kind)]
    assert names == {*order} - own
    plain = make()
    for name in names:
        said = make(**{name: f"{name}!"})
        changed = [i for i, (one, other) in enumerate(zip(said, plain, strict=True)) if one != other]
        assert changed == [1 + order.index(name)]


@pytest.mark.parametrize(("make", "word"), [(gemm_words, "epilogs"), (gemm_words, "groups"), (of_three, "epilogs")])
def test_a_word_that_is_none_is_refused(make: Callable[..., tuple[Any, ...]], word: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument .{word}"):
        make(**{word: 1})
