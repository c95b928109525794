"""The signatures that every library answers: the data of answered.json."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import Fp8Flavour

_BRACES = re.compile(r"\{([^{}]*)\}")

Parse = Callable[[str, Fp8Flavour | None], GemmSignature]


@cache
def answered(word: str, parse: Parse) -> tuple[GemmSignature, ...]:
    """Those of a word of `--ops`, in the file's order, each once."""
    return tuple(
        dict.fromkeys(parse(name, None) for pattern in _patterns().get(word, ()) for name in expanded(pattern))
    )


def expanded(pattern: str) -> Iterator[str]:
    """The texts that a pattern stands for: `{a,b}` is each of its words, and several multiply out."""
    found = _BRACES.search(pattern)
    if found is None:
        yield pattern
        return
    for word in found[1].split(","):
        yield from expanded(pattern[: found.start()] + word + pattern[found.end() :])


@cache
def _patterns() -> dict[str, tuple[str, ...]]:
    data = json.loads(Path(__file__).with_name("answered.json").read_text(encoding="utf-8"))
    return {word: tuple(patterns) for word, patterns in data.items() if word != "about"}
