"""The words of canonical names that say one field each, in the order in which ckgen/src/signature writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ckgen.families.common.key import KEY_FIELDS, KeyField, text_of
from ckgen.families.common.key_fields import NAME_WORDS
from ckgen.model.op_words import WORDS
from ckgen.model.word import Word

_FLAG = "flag"


def name_words(signature: object, beginning: str = "") -> list[str]:
    """What a name says behind the types: flags that are set, and members that are not the usual ones.

    Only of fields whose names begin so.
    """
    found = []
    for field, word, prefix, usual in _said_of(str(KEY_FIELDS["op"].value(signature)), beginning):
        value = field.value(signature)
        if value is True:
            found.append(word)
        elif value is not False and value is not usual:
            found.append(prefix + text_of(value))
    return found


@cache
def _said_of(op: str, beginning: str) -> tuple[tuple[KeyField, str, str, Word | None], ...]:
    """Each field with its word or prefix, and the member that is not said."""
    return tuple(
        (KEY_FIELDS[name], word, prefix, None if always or word else next(iter(WORDS[KEY_FIELDS[name].kind])))
        for of, name, word, prefix, always, _ in NAME_WORDS
        if op in of and name.startswith(beginning)
    )


@cache
def alias_words(op: str) -> Mapping[str, tuple[str, object]]:
    """What an alias of the op may say: the field and its value by word, in order."""
    found: dict[str, tuple[str, object]] = {}
    for of, name, word, _, _, in_alias in NAME_WORDS:
        if op in of and in_alias:
            kind = KEY_FIELDS[name].kind
            found |= {word: (name, True)} if kind == _FLAG else {one.value: (name, one) for one in WORDS[kind]}
    return found


def fields_said(op: str, words: Iterable[str]) -> dict[str, Any]:
    """The fields that the words say, by name, in any order; whoever parses checks that the name comes back."""
    text = f"_{'_'.join(words)}_"
    found: dict[str, Any] = {}
    for of, name, word, prefix, _, _ in NAME_WORDS:
        field = KEY_FIELDS[name]
        if op not in of:
            continue
        if field.kind == _FLAG:
            found[name] = f"_{word}_" in text
        else:
            first, *rest = WORDS[field.kind]
            found[name] = next((member for member in rest if f"_{prefix}{member}_" in text), first)
    return found
