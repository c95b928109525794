"""Why a signature means nothing: the rules of signature_tables.py, evaluated as src/signature/rules.cpp does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from ckgen.families.common.key import KEY_FIELDS, text_of
from ckgen.families.common.signature_tables import RULES, Case, Conditions

Counts = Mapping[str, Callable[[object], int]]
"""What rules count of a signature, by name."""
_PLACE = re.compile(r"\{(.*?)\}")
_LARGEST_CODE = 31


def problems(signature: object, counts: Counts) -> Iterator[str]:
    """One sentence for each rule that the fields break, in order; none for a signature that means something."""
    return (sentence for _, sentence in broken_rules(signature, counts))


def broken_rules(signature: object, counts: Counts) -> Iterator[tuple[str, str]]:
    """The id and the sentence of each."""
    facts = _Facts(signature, counts)
    for rule, sentence, cases in _rules_of(str(KEY_FIELDS["op"].value(signature))):
        broken = facts.broken(cases)
        if broken is not None:
            said = _PLACE.sub(lambda place, case=broken: facts.text(place[1], case), sentence)  # type: ignore[misc]
            yield rule, said


@cache
def _rules_of(op: str) -> tuple[tuple[str, str, tuple[Case, ...]], ...]:
    return tuple((rule, sentence, cases) for rule, of, sentence, cases in RULES if op in of)


class _Facts:
    """Codes and texts of a signature's fields."""

    def __init__(self, signature: object, counts: Counts) -> None:
        self._signature = signature
        self._counts = counts
        self._codes = _Codes(signature, counts)

    def broken(self, cases: tuple[Case, ...]) -> Case | None:
        """The first case that holds, if it is not met."""
        for case in cases:
            when, must, _ = case
            if self._hold(when):
                return None if self._is_met(must) else case
        return None

    def text(self, place: str, case: Case) -> str:
        """What stands in a place of a sentence."""
        if place == "allowed":
            return case[2]
        if place in self._counts:
            return str(self._counts[place](self._signature))
        return text_of(KEY_FIELDS[place].value(self._signature))

    def _hold(self, conditions: Conditions) -> bool:
        """Whether all do: plain loops, since whole spaces of signatures are judged."""
        for field, like in conditions:
            code = self._codes[field]
            if isinstance(like, int):
                if not like >> min(code, _LARGEST_CODE) & 1:
                    return False
            elif (code == self._codes[like.lstrip("!=")]) is like.startswith("!"):
                return False
        return True

    def _is_met(self, must: tuple[Conditions, ...]) -> bool:
        for conditions in must:
            if self._hold(conditions):
                return True
        return not must


class _Codes(dict[str, int]):
    """Codes of a signature's fields, and what is counted of it, taken when they are first asked for."""

    def __init__(self, signature: object, counts: Counts) -> None:
        super().__init__()
        self._signature = signature
        self._counts = counts

    def __missing__(self, field: str) -> int:
        count = self._counts.get(field)
        code = KEY_FIELDS[field].code(self._signature) if count is None else count(self._signature)
        self[field] = code
        return code
