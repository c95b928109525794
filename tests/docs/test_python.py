"""docs/python.md runs as it stands."""

from __future__ import annotations

import doctest
import re
from fnmatch import fnmatchcase
from typing import Any

import pytest

import ckgen
from calls_library import library_on
from ckgen.runtime import Library
from ckgen.runtime.dispatcher import Dispatcher
from cpp_build import ROOT

pytestmark = pytest.mark.cpp


def test_the_tutorial_prints_what_stands_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    planned: set[str] = set()
    plan = Dispatcher.plan

    def jit(signatures: list[str], **_: Any) -> Library:
        asked.update(signatures)
        return library_on("cpu")

    def listening(*given: Any) -> Any:
        made = plan(*given)
        planned.add(made.signature)
        return made

    monkeypatch.setattr(ckgen, "jit", jit)
    monkeypatch.setattr(Dispatcher, "plan", listening)
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(>>>.*?)^```$", text, re.MULTILINE | re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(code, {}, "docs/python.md", None, 0)
    assert len(examples.examples) > 25
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
    assert not said, "".join(said)
    unasked = [one for one in planned if not any(fnmatchcase(one, pattern) for pattern in asked)]
    assert not unasked, "the library that a reader builds by these lines has no kernel of them"
