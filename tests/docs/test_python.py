"""docs/python.md runs as it stands."""

from __future__ import annotations

import doctest
import re

import pytest

import ckgen
from calls_library import library_on
from cpp_build import ROOT

pytestmark = pytest.mark.cpp


def test_the_tutorial_prints_what_stands_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ckgen, "jit", lambda **asked: library_on("cpu"))
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(>>>.*?)^```$", text, re.MULTILINE | re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(code, {}, "docs/python.md", None, 0)
    assert len(examples.examples) > 25
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
    assert not said, "".join(said)
