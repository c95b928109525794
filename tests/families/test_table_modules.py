"""Which modules have tables, and how the kernels in them are named."""

from __future__ import annotations

import pytest

from ckgen.families.gemm.modules import modules, unsigned_modules
from ckgen.families.gemm.table_module import ambiguous_module
from ckgen.families.tables import describe_names, name_forms, table_modules


def test_modules_are_those_of_gemm_and_that_of_layers() -> None:
    assert list(table_modules()) == [*modules(), *unsigned_modules(), "fmoe"]
    assert all(name == module.name for name, module in table_modules().items())


def test_every_module_with_kernels_of_ours_has_forms() -> None:
    libraries = {name: sorted({library for library, _ in name_forms(name)}) for name in table_modules()}
    assert libraries["fmoe"] == ["ck"] and libraries["mxfp8"] == ["hip"]
    assert libraries["a8w8_blockscale"] == ["ck", "cktile"]
    assert ("hip", "<gemv|mfma>_m<M>_n<n_sub>_k<k_splits>") in name_forms("mxfp8")
    forms = [form for _, form in name_forms("fmoe")]
    assert len(forms) == 2 and all(form.startswith("moe_ck2stages_gemm") for form in forms)


def test_forms_of_a_hint_are_cut_and_joined() -> None:
    for name in ("fmoe", "a8w8_blockscale"):
        parts = describe_names(name).split(" or ")
        assert len(parts) == len(list(name_forms(name))) > 1
        assert all("…" in part for part in parts)
    assert describe_names("nothing") == "" and list(name_forms("nothing")) == []


@pytest.mark.parametrize("batched", [False, True])
def test_modules_that_are_offered_are_those_with_the_tables_columns(batched: bool) -> None:
    found = ambiguous_module("t.csv", batched, None, table_modules())
    told = str(found)
    assert ("batched_bf16" in told, "a8w8_bpreshuffle" in told) == (batched, not batched)
