"""What a command line says beside the device: `ckgen.families.common.asked`, its refusals and their whole texts."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from ckgen.families.common.asked import Asked, flag, is_integer
from ckgen.model.errors import UsageError

OPTIONS: dict[str, Any] = {
    "shape": "1,2,3", "batch": "2", "groups": "1x2x3", "groups_on_device": "1:1x2x3", "experts": 0, "top_k": 0,
    "block_m": 0, "module": "m",
}  # fmt: skip
FLAGS = ("--shape", "--batch", "--groups", "--groups-on-device", "--experts", "--top-k", "--block-m", "--module")


def test_it_is_made_of_a_commands_parameters_by_name() -> None:
    given = {"op": "gemm", "signature": "bf16", **OPTIONS, "sizes": ("a=1",), "target": "gfx942", "tuning": ()}
    assert Asked.of(given) == Asked("gemm", "bf16", "1,2,3", "2", "1x2x3", "1:1x2x3", 0, 0, 0, "m", ("a=1",))
    with pytest.raises(KeyError, match="sizes"):
        Asked.of({name: value for name, value in given.items() if name != "sizes"})


def test_it_is_not_changed_once_it_is_made() -> None:
    asked = Asked("gemm", shape="1,2,3")
    with pytest.raises(FrozenInstanceError):
        asked.shape = "4,5,6"  # type: ignore[misc]


@pytest.mark.parametrize(("name", "option"), list(zip(OPTIONS, FLAGS, strict=True)))
def test_every_option_is_refused_where_it_is_not_known_even_if_it_is_zero(name: str, option: str) -> None:
    asked = Asked("x", "signature", **{name: OPTIONS[name]})
    with pytest.raises(UsageError) as told:
        asked.refuse_beside("x", [one for one in OPTIONS if one != name])
    assert str(told.value) == f"{option} is not an option of x"
    asked.refuse_beside("x", [name])


def test_of_several_options_the_first_of_the_fields_is_told() -> None:
    with pytest.raises(UsageError, match=r"^--batch is not an option of y$"):
        Asked("y", **OPTIONS).refuse_beside("y", ("shape", "experts"))


def test_op_and_signature_all_have() -> None:
    Asked("x").refuse_beside("x", ())
    Asked("x", "signature").refuse_beside("x", ())


def test_sizes_are_refused_before_options_where_they_are_not_known() -> None:
    asked = Asked("x", shape="1", sizes=("a=1", "b=2"))
    with pytest.raises(UsageError) as told:
        asked.refuse_beside("x", ())
    assert str(told.value) == "'a=1': the sizes of x are options, not KEY=VALUE"
    asked.refuse_beside("x", ("sizes", "shape"))


def test_what_is_missing_is_demanded_all_at_once() -> None:
    asked = Asked("x", shape="", experts=0)
    asked.demand("x", "op", "shape", "experts")
    asked.demand("x")
    with pytest.raises(UsageError) as told:
        asked.demand("x", "shape", "groups_on_device", "experts", "top_k")
    assert str(told.value) == "x needs --groups-on-device, --top-k"


def test_flags_are_fields_with_hyphens() -> None:
    assert [flag(name) for name in OPTIONS] == list(FLAGS)


@pytest.mark.parametrize("text", ["0", "-1", "+1", "007", "1" * 30, "-" + "9" * 30])
def test_integers_of_up_to_30_digits_are_read(text: str) -> None:
    assert is_integer(text)
    int(text)


@pytest.mark.parametrize("text", ["", "-", "+", "--1", " 1", "1 ", "1\n", "1.0", "1e3", "0x1", "1_0", "٣", "1" * 31])
def test_other_texts_are_none(text: str) -> None:
    assert not is_integer(text)
