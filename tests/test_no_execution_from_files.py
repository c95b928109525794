"""No file that ckgen reads can make it run code: what would is not used in the package at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckgen import paths

MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}
CALLS = {"eval", "exec"}
YAML = {"load", "load_all", "full_load", "full_load_all", "unsafe_load", "unsafe_load_all"}
LOADERS = {"Loader", "CLoader", "FullLoader", "CFullLoader", "UnsafeLoader", "CUnsafeLoader"}
WORDS = re.compile("|".join([*MODULES, *CALLS, "yaml", "allow_pickle"]))
"""One of these stands in any text with what is looked for: others need not be parsed."""


def executing(text: str) -> Iterator[str]:
    """What in a module's text could turn bytes into running code."""
    if not WORDS.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").partition(".")[0]]
        yield from (name for name in names if name in MODULES)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "yaml":
            yield from (f"yaml.{alias.name}" for alias in node.names if alias.name in YAML | LOADERS)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "yaml":
            yield from (f"yaml.{name}" for name in [node.attr] if name in YAML | LOADERS)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            yield f"{node.func.id}()"
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            yield from (["allow_pickle"] if getattr(node.value, "value", True) is not False else [])


@pytest.mark.parametrize(
    ("package", "modules"), [(paths.package_dir(), 300), (paths.root() / "emulator" / "ckgen_emulator", 60)]
)
def test_a_package_has_nothing_that_executes_what_it_reads(package: Path, modules: int) -> None:
    sources = sorted(package.rglob("*.py"))
    assert len(sources) > modules
    found = {path.relative_to(package): [*executing(path.read_text(encoding="utf-8"))] for path in sources}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import pickle", "from marshal import loads", "import shelve as s", "eval('1')", "import yaml\nyaml.load(x)",
        "from yaml import UnsafeLoader", "np.load(x, allow_pickle=True)", "def f():\n    import pickle.x",
    ],
)  # fmt: skip
def test_each_kind_would_be_found(text: str) -> None:
    assert [*executing(text)]
