"""What schema/ops.yaml says, once it is read: every reference is resolved, every code fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FLAG = "flag"
"""The type of a field that is true or false."""
EVERY = 0xFFFFFFFF
"""All codes: none is above 31."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enum; `cpp_only`: Python has None for it, or nothing."""

    name: str
    code: int
    text: str
    doc: str
    cpp_only: bool
    traits: Mapping[str, str | Mapping[str, str]]

    @property
    def python(self) -> str:
        """Its name in Python."""
        return self.name.removesuffix("_").upper()


@dataclass(frozen=True, slots=True)
class Trait:
    """What members of an enum are asked: a `flag`, an `int`, a `text`, or a member of theirs for one of enum `kind`."""

    name: str
    kind: str
    doc: str
    python_only: bool


@dataclass(frozen=True, slots=True)
class EnumWords:
    """An enum of both languages; `bits` of a key hold it, None: no key does."""

    name: str
    doc: str
    more: str
    bits: int | None
    traits: tuple[Trait, ...]
    members: tuple[Member, ...]

    @property
    def in_python(self) -> tuple[Member, ...]:
        """Those that Python has."""
        return tuple(member for member in self.members if not member.cpp_only)

    @property
    def absent(self) -> Member | None:
        """The one that is None in Python."""
        return next((member for member in self.members if member.cpp_only), None)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers that keys hold as their place."""

    name: str
    bits: int
    values: tuple[int, ...]
    doc: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number that both languages know."""

    name: str
    value: int
    doc: str


@dataclass(frozen=True, slots=True)
class Field:
    """A member of ckgen::Signature at bits `at` … `at + bits - 1` of keys of the ops `of`.

    `type` names an enum or sizes, or is `flag`.
    """

    name: str
    type: str
    at: int
    bits: int
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NameWord:
    """Where canonical names of the ops `of` say a field: a flag's `word`, or an enum's text behind a `prefix`.

    `in_alias`: aliases say it too.
    """

    of: tuple[str, ...]
    field: str
    word: str
    prefix: str
    always: bool
    in_alias: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """A field's code is in the mask; with `same`, it is (or with `negated` is not) that of this other field."""

    field: str
    mask: int = EVERY
    same: str = ""
    negated: bool = False


Conditions = tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Where all of `when` hold, one of the alternatives of `must` has to; none asks nothing."""

    when: Conditions
    must: tuple[Conditions, ...]
    allowed: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of signatures: where it is broken, `sentence` is said."""

    id: str
    of: tuple[str, ...]
    sentence: str
    cpp_only: bool
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class UsualCase:
    """Where all of `when` hold, the field is this member."""

    when: Conditions
    member: str


@dataclass(frozen=True, slots=True)
class Alias:
    """What an alias fixes; `operand` is empty where one of `operands` must be said."""

    name: str
    operands: tuple[str, ...]
    operand: str
    out: str
    quant: str
    preshuffle_b: bool
    batched: bool


@dataclass(frozen=True, slots=True)
class ProblemRule:
    """A rule of problems. With a `size`, that size must satisfy `demand` of `value` where the signature has `when`.

    `near` is how little an instance still asks for that says this: see the file.
    """

    id: str
    sentence: str
    size: str = ""
    demand: str = ""
    value: int = 0
    when: tuple[tuple[str, str], ...] = ()
    near: int = 0


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a builder refuses: all setters of `said` were called and none of `without`."""

    id: str
    said: tuple[str, ...]
    without: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class BuilderWords:
    """The builder of attention problems; `advice` is said behind the sentence of a rule of signatures or problems."""

    setters: tuple[str, ...]
    contradictions: tuple[Contradiction, ...]
    advice: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Description:
    """All of it, in the file's order."""

    enums: Mapping[str, EnumWords]
    sizes: Mapping[str, Sizes]
    numbers: Mapping[str, Number]
    key_bits: int
    fields: Mapping[str, Field]
    names: tuple[NameWord, ...]
    sets: Mapping[str, tuple[str, tuple[str, ...]]]
    usual: Mapping[str, tuple[UsualCase, ...]]
    aliases: tuple[Alias, ...]
    counted: Mapping[str, str]
    rules: tuple[Rule, ...]
    problem_rules: tuple[ProblemRule, ...]
    builder: BuilderWords
