"""The builder of attention problems: the lines that C++'s is held to, and that what it says is what there is to say."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import pytest

import ckgen
from ckgen import paths
from ckgen.families.common.signature_tables import RULES
from ckgen.families.fmha.builder_tables import ADVICE, CONTRADICTIONS, SETTERS
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape

CASES = [
    tuple(line.split(" -> "))
    for line in (paths.root() / "dispatcher_cpp/tests/fmha/fmha_builder_cases.inc").read_text().splitlines()[1:-1]
    if line
]
KEYWORDS = {"varlen": ("total_q", "gaps_q"), "splits": ("items", "combines", "rows", "m0", "n0", "merged")}
FLAGS = {"gaps_q", "merged"}


def said(words: str) -> str:
    builder = ckgen.FmhaBuilder()
    for word in words.split():
        name, _, text = word.partition("=")
        values = [int(one) if re.fullmatch(r"-?\d+", one) else one for one in text.split(",")] if text else []
        if name in KEYWORDS:
            named = dict(zip(KEYWORDS[name], values, strict=False))
            assert (
                getattr(builder, name)(**{key: bool(v) if key in FLAGS else v for key, v in named.items()}) is builder
            )
        else:
            assert getattr(builder, name)(*values) is builder
    try:
        problem = builder.build()
    except UsageError as refused:
        return f"refused: {refused}"
    usual, shape = FmhaShape(), problem.shape
    sizes = []
    for one in fields(FmhaShape):
        value = getattr(shape, one.name)
        if value != getattr(usual, one.name):
            sizes.append(f"{one.name}={int(value) if isinstance(value, bool) else value}")
    wishes = [name if value is True else f"{name}={value}" for name, value in problem.wishes.items()]
    return " ".join([problem.signature, *sizes, *wishes])


@pytest.mark.parametrize(("words", "answer"), CASES, ids=[one[0][:60] or "nothing" for one in CASES])
def test_the_builder_says_what_cpp_says(words: str, answer: str) -> None:
    assert said(words) == answer


def test_every_setter_and_every_contradiction_is_in_the_cases() -> None:
    words = {word.partition("=")[0] for called, _ in CASES for word in called.split()}
    refusals = "\n".join(answer for _, answer in CASES)
    assert words == set(SETTERS)
    assert not [one for one, *_ in CONTRADICTIONS if f"(rule {one})" not in refusals]
    unsaid = {rule for rule, text in ADVICE.items() if f": {text}" not in refusals}
    assert unsaid == set()


@pytest.mark.parametrize(
    ("setter", "words", "says"),
    [
        ("types", ("bf17",), "'bf17' is no DType (did you mean 'bf16'?)"),
        ("types", ("bf16", "bf16", 16), "'16' is no DType"),
        ("quant", ("pertenso",), "'pertenso' is no FmhaQuant (did you mean 'pertensor'?)"),
        ("rope", ("full", 64), "'full' is no FmhaRope"),
        ("causal", ("left",), "'left' is no FmhaCorner"),
    ],
)
def test_a_word_that_is_none_is_refused_where_it_is_said(setter: str, words: tuple[object, ...], says: str) -> None:
    with pytest.raises(UsageError) as refused:
        getattr(ckgen.FmhaBuilder(), setter)(*words)
    assert says in str(refused.value)


def test_both_languages_have_the_setters_and_no_others() -> None:
    header = (paths.root() / "dispatcher_cpp/include/ckgen/fmha_builder.hpp").read_text()
    public = header[: header.index(" private:")]
    assert set(re.findall(r"^  FmhaBuilder& (\w+)\(", public, re.MULTILINE)) == set(SETTERS)
    methods = inspect.getmembers(ckgen.FmhaBuilder, inspect.isfunction)
    assert {name for name, _ in methods if not name.startswith("_")} == {*SETTERS, "build"}


def test_a_rule_that_no_setter_can_break_is_told_apart() -> None:
    """What an attention signature may break is advised, but for types that none can be: their sentence says it."""
    of_signatures = {rule for rule, of, *_ in RULES if of == ("fmha",)}
    assert of_signatures - set(ADVICE) == {"fmha.q.type", "fmha.o.type"}
