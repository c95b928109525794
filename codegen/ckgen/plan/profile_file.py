"""Profiles as YAML files, read strictly, with every error located."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.registry import FAMILIES, AnyFamily, family_of_name
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import YAML, DocumentError, read_text
from ckgen.model.errors import InputError, UsageError
from ckgen.model.located_yaml import DocumentReader, Located, read_documents
from ckgen.model.suggestion import did_you_mean, nearest_or_all
from ckgen.plan.profile import Asked, Clause, Profile, dtypes_of
from ckgen.plan.receipts import PREFIX, profiles_of_receipt

KEYS = ("name", "about", "keep")
_FOLDER = Path(__file__).with_name("profiles")


def shipped_names() -> tuple[str, ...]:
    """The profiles that come with ckgen, by name."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def profile_file(given: Path) -> Path:
    """The file that `--profile` means: a shipped profile by its bare name, else a path that is there."""
    if str(given) in shipped_names():
        return _FOLDER / f"{given}.yaml"
    if not given.exists():
        hints = (did_you_mean(str(given), shipped_names()), f"known: a file, or one of {', '.join(shipped_names())}")
        raise UsageError(f"unknown profile: '{given}' ({' '.join(filter(None, hints))})")
    return given


def profile_files(given: Iterable[Path]) -> tuple[Path, ...]:
    """The files that several `--profile` mean; `receipt:N` of CK may be more than one."""
    names = (
        name
        for one in given
        for name in (profiles_of_receipt(str(one)) if str(one).startswith(PREFIX) else (str(one),))
    )
    return tuple(dict.fromkeys(profile_file(Path(name)) for name in names))


@cache
def shipped_profile(name: str) -> Profile:
    """A profile that comes with ckgen."""
    return read_profile(profile_file(Path(name)))


def read_profile(path: Path) -> Profile:
    """The profile of a file; InputError carries everything that is wrong with it (K001 to K005)."""
    try:
        text = read_text(path, YAML)
    except DocumentError as error:
        hint = f"give a YAML file, or one of {', '.join(shipped_names())}"
        raise InputError([error.diagnostic("K001", path, hint)]) from None
    return load_profile(text, str(path))


def load_profile(text: str, file: str) -> Profile:
    """The profile of a YAML text; InputError as of `read_profile`."""
    reader = _ProfileReader()
    documents = read_documents(text, file, reader.report)
    if not reader.errors and len(documents) != 1:
        found = f"{len(documents)} YAML documents, expected one profile"
        reader.report(Diagnostic("K005", found, Location(file)))
    profile = reader.profile(documents[0]) if documents else None
    if reader.errors or profile is None:
        raise InputError(reader.errors)
    return profile


class _ProfileReader(DocumentReader):
    """Turns a document into a profile."""

    def profile(self, node: Located) -> Profile | None:
        found = self._mapping(node, KEYS, KEYS)
        if found is None:
            return None
        clauses = [clause for item in found["keep"].items() if (clause := self._clause(item)) is not None]
        if not found["keep"].items():
            self.say("K005", found["keep"], "keep must name at least one filter")
        return Profile(self._text(found["name"]), self._text(found["about"]), tuple(clauses))

    def _clause(self, node: Located) -> Clause | None:
        families = speaking()
        found = self._mapping(node, (*families, "backends", "sources", "cover", "batch_invariant", "without"), ())
        if found is None:
            return None
        backends = self._words(found.get("backends"), [str(backend) for backend in Backend])
        sources = self._words(found.get("sources"), None)
        cover, invariant = (self._words(found.get(key), ["true", "false"]) for key in ("cover", "batch_invariant"))
        asked = {
            key: self._asked(found[key], key, family.profile_words) for key, family in families.items() if key in found
        }
        return Clause(
            asked={key: words for key, words in asked.items() if words},
            backends=frozenset(map(Backend, backends)) if backends is not None else None,
            sources=sources,
            cover="true" in (cover or ()),
            without=self._instances(found.get("without")),
            batch_invariant="true" in (invariant or ()),
        )

    def _instances(self, node: Located | None) -> frozenset[str]:
        names = self._words(node, None) or frozenset()
        for item in node.items() if node is not None else ():
            name = item.value
            if isinstance(name, str) and family_of_name(name).parse_instance(name) is None:
                self.say("K005", item, f"no instance has this name: {name!r}", "see `ckgen list instances`")
        return names

    def _asked(self, node: Located, key: str, known: Mapping[str, Sequence[str] | None]) -> Asked:
        if node.value == {}:
            self.say("K005", node, f"{key} must name at least one field")
        found = self._mapping(node, tuple(known), ())
        read = []
        for name, value in (found or {}).items():
            words = self._words(value, known[name])
            if words is not None:
                read.append((name, frozenset(meant for word in words for meant in dtypes_of(word))))
        return tuple(read)

    def _words(self, node: Located | None, known: Sequence[str] | None) -> frozenset[str] | None:
        if node is None:
            return None
        for item in node.items():
            if not isinstance(item.value, str):
                self.say("K005", item, "expected a word")
            elif known is not None and item.value not in known:
                self.say("K005", item, f"unknown word: {item.value!r}", nearest_or_all(item.value, known))
        if not node.items():
            self.say("K005", node, "an empty list fits nothing: leave the key out")
        words = frozenset(item.value for item in node.items() if isinstance(item.value, str))
        return words if known is None else words & frozenset(known)

    def _text(self, node: Located) -> str:
        if not isinstance(node.value, str) or not node.value:
            self.say("K005", node, "expected a text")
            return ""
        return node.value

    def _mapping(
        self, node: Located, known: tuple[str, ...], required: tuple[str, ...]
    ) -> Mapping[str, Located] | None:
        if not isinstance(node.value, dict):
            self.say("K005", node, "expected a mapping", f"keys: {', '.join(known)}")
            return None
        whole = self.has_keys(node, known, required)
        return {key: value for key, value in node.value.items() if key in known} if whole else None


def profile_schema() -> dict[str, Any]:
    """The JSON Schema of a profile."""
    text = {"type": "string", "minLength": 1}
    clause = {
        **{key: _asked_schema(family.profile_words) for key, family in speaking().items()},
        "backends": _one_or_more([str(backend) for backend in Backend]),
        "sources": {"description": "tables, heuristics, and names of kernel sets", **_one_or_more(None)},
        "cover": {"type": "boolean"},
        "batch_invariant": {"description": "kernels with one order of additions", "type": "boolean"},
        "without": {"description": "names of instances", **_one_or_more(None)},
    }
    filtered = {"type": "object", "properties": clause, "additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://ckgen.invalid/profile.json",
        "title": "A profile: which kernels a library keeps",
        "type": "object",
        "properties": {
            "name": text,
            "about": text,
            "keep": {"oneOf": [filtered, {"type": "array", "items": filtered, "minItems": 1}]},
        },
        "required": list(KEYS),
        "additionalProperties": False,
    }


def speaking() -> dict[str, AnyFamily]:
    """By the key under which clauses speak of them, the first family that has its words."""
    found: dict[str, AnyFamily] = {}
    for family in FAMILIES.values():
        found.setdefault(family.profile_key, family)
    return found


def _asked_schema(known: Mapping[str, Sequence[str] | None]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: _one_or_more(words) for name, words in known.items()},
        "additionalProperties": False,
        "minProperties": 1,
    }


def _one_or_more(words: Sequence[str] | None) -> dict[str, Any]:
    """A word or a list of them, as YAML reads them: `true` is a boolean there."""
    scalar: dict[str, Any] = {"type": ["string", "integer", "boolean"]}
    if words is not None:
        scalar = {
            "enum": [*words, *({"true": True, "false": False}[word] for word in words if word in ("true", "false"))]
        }
    return {"oneOf": [scalar, {"type": "array", "items": scalar, "minItems": 1}]}
