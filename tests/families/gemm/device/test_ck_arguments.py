"""A kernel name becomes the template arguments that the tables' owner gives its device op."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ck_alias_text import Alias, find_alias, plain_aliases, without_comments
from ck_instance_tables import FOLDERS, arguments_of, instances_of

from amd_support import amd_toolchain, missing
from ckgen import paths
from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.variant import Tail
from ckgen.families.gemm.device.ck import ALIASES, device_unit
from ckgen.families.gemm.device.ck_variants import CkVariant, Spec
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.model.dtype import Fp8Flavour

SIGNATURES = {
    "a8w8": ("a8w8:int8", "a8w8:fp8"),
    "a8w8_bpreshuffle": ("a8w8_bpreshuffle",),
    "a8w8_blockscale": ("a8w8_blockscale",),
    "a8w8_blockscale_bpreshuffle": ("a8w8_blockscale_bpreshuffle",),
    "a4w4_blockscale": ("a4w4_blockscale",),
    "batched_a8w8": ("batched_a8w8",),
    "batched_bf16": ("batched_bf16",),
}
THEIR_TYPES = {
    "a8w8:int8": {"ABDataType": "int8_t", "AccDataType": "int", "EDataType": "ck::bhalf_t"},
    "a8w8:fp8": {"ABDataType": "ck::f8_t", "AccDataType": "float", "EDataType": "ck::bhalf_t"},
}
"""What the caller of an instance says, by signature; else its header does."""
OUT = {"EDataType": "ck::bhalf_t"}
FUNCTORS = {"MultiplyMultiply": "RowwiseScale", "RowwiseScale<int,float,bhalf_t>": "RowwiseScale"}
FUNCTORS["RowwiseScale<float,float,bhalf_t>"] = "RowwiseScale"
LEAST = {
    "a8w8": 85, "a8w8_bpreshuffle": 143, "a8w8_blockscale": 19, "a8w8_blockscale_bpreshuffle": 18,
    "a4w4_blockscale": 20, "batched_a8w8": 85, "batched_bf16": 85,
}  # fmt: skip
"""Names in the pinned wheel's tables: fewer means that this test reads them no more."""

VARIANT = CkVariant(Spec.DEFAULT, hot=True, tail=Tail.FULL, add=False)


@pytest.fixture(scope="module")
def tables() -> Path:
    found = amd_toolchain().ck.instance_tables
    if found is None:
        missing("this CK tree comes without instance tables")
    return found


@pytest.mark.amd
@pytest.mark.parametrize(("module", "signature"), [(m, s) for m in FOLDERS for s in SIGNATURES[m]])
def test_every_name_gets_its_owners_arguments(module: str, signature: str, tables: Path) -> None:
    count = 0
    for name, one in instances_of(tables, module):
        theirs = arguments_of(tables, module, one, THEIR_TYPES.get(signature, OUT))
        ours = our_arguments(instance_named(module, signature, name))
        assert ours == tuple(FUNCTORS.get(argument, argument) for argument in theirs), name
        count += 1
    assert count >= LEAST[module]


def instance_named(module: str, signature: str, name: str) -> Instance:
    found = identify(module, "ck", name)
    assert found is not None, name
    parsed = parse_signature(signature, Fp8Flavour.FNUZ)
    return make_instance(parsed, found.config, module=module, table_kernel=name, archs=("gfx942",))


def our_arguments(instance: Instance) -> tuple[str, ...]:
    """Out of the unit's text and the header that it includes."""
    unit = render_device_unit(device_unit(instance, (VARIANT,)))
    header = (paths.dispatcher_dir() / "backends" / ALIASES[instance.module].header).read_text(encoding="utf-8")
    common = (paths.dispatcher_dir() / "backends" / "ck" / "ops" / "common.hpp").read_text(encoding="utf-8")
    text = without_comments(header)
    values = {**plain_aliases(without_comments(common)), **plain_aliases(text), **plain_aliases(unit)}
    assert f"using Module = {ALIASES[instance.module].template}<Config>;" in unit
    values = {name: value for name, value in values.items() if name not in ("C", "Scheduler", "Version", "Spec")}
    return _of_spec(find_alias(text, "Op")).named({**values, "spec": "Default"})


def _of_spec(alias: Alias) -> Alias:
    assert alias.parameters == ("spec",)
    assert re.fullmatch(r"[\w:]+", alias.target)
    return alias
