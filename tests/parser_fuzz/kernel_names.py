"""Kernel names of every grammar: what a name means is written as the same name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ckgen import paths
from ckgen.families.fmha.grammar import parse_instance_name
from ckgen.families.gemm.grammar import fits, grammars, identify
from ckgen.families.gemm.mxfp8_tables import LIBRARY, MODULE
from ckgen.families.kernel_sets import kernel_set_files, read_kernel_set
from ckgen.families.moe.grammar import forms
from ckgen.families.registry import make_instance
from parser_fuzz.target import Target, text_of


def run(data: bytes) -> None:
    """Asks every form; none refuses by raising."""
    name = text_of(data)
    for form in (*(grammar.form for grammar in grammars()), *forms()):
        config = form.parse(name)
        assert config is None or form.format(config) == name, form
    for grammar in grammars():
        fitting = bool(grammar.form.regex.fullmatch(name))
        assert not fitting or fits.__wrapped__(name) >= set(grammar.modules)
    own = identify.__wrapped__(MODULE, LIBRARY, name)
    assert own is None or name.startswith("m")
    known = parse_instance_name(name)
    if known is not None:
        signature, backend, config = known
        instance = make_instance(signature, config, ())
        assert (instance.name, instance.backend) == (name, backend)


@cache
def seeds() -> Sequence[bytes]:
    """Names of tables, a few of each length, and of attention."""
    words = {word for file in paths.tuning_dir().rglob("*.csv") for word in file.read_text(encoding="utf-8").split(",")}
    names = sorted(word for word in words if "_" in word and "x" in word and len(word) > 20)
    few = {name[:12] + str(len(name) % 5): name for name in names}
    files = [file for kind in ("ci", "default") for file in kernel_set_files(Path(kind), ("fmha",))]
    known = [one for file in files for one in read_kernel_set(file) if not isinstance(one.config, str)]
    made = [make_instance(one.signature, one.config, ()).name for one in known[:: len(known) // 20 or 1]]
    return [name.encode() for name in (*few.values(), *made, "m8_n2_k8")]


TARGET = Target(
    "kernel_names", run, seeds, (b"0", b"01", b"x", b"_", b"999999999", b"intrawave", b"v3", b"\n"), mutations=800
)
