"""An attention problem as a command line says it: `ckgen.families.fmha.asked`, every key and every refusal."""

from __future__ import annotations

import pytest

from ckgen.families.common.asked import Asked
from ckgen.families.fmha.asked import KEYS, asked_shape, asked_signature, signature_in, sizes_document
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.mask import FORMS
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape

ALL = ("batch", "heads_q", "heads_k", "seqlen_q", "seqlen_k", "hdim_q", "hdim_v")
LEAST = ("heads_q=4", "seqlen_q=5", "hdim_q=64")
APPEND = ("heads_q=4", "seqlen_new=3", "seqlen_k=9", "hdim_q=64")
KEYS_OF = {
    "bf16": (),
    "bf16_alibi_sink_lse_dropout": (),
    "bf16_masked": ("mask",),
    "bf16_varlen": ("total_q", "min_seqlen_k", "gaps_q"),
    "bf16_blocktable": ("page_size", "pages", "min_seqlen_k", "finite_kv"),
    "bf16_varlen_masked_pagelist": (
        "mask", "page_size", "pages", "total_q", "min_seqlen_k", "finite_kv", "gaps_q",
    ),
    "bf16_append": ("seqlen_new",),
    "bf16_append_rope_half": ("seqlen_new", "rotary_dim"),
    "bf16_append_varlen": ("seqlen_new", "total_q", "min_seqlen_k", "gaps_q"),
    "bf16_append_blocktable_rope_interleaved": (
        "page_size", "pages", "seqlen_new", "rotary_dim", "min_seqlen_k", "finite_kv",
    ),
}  # fmt: skip
"""What signatures ask beside the sizes that all have."""


def shape_of(signature: str, *words: str) -> FmhaShape:
    return asked_shape(parse_canonical(f"fmha_{signature}"), words)


def refusal(signature: str, *words: str) -> str:
    with pytest.raises(UsageError) as told:
        shape_of(signature, *words)
    return str(told.value)


def test_the_keys_are_these() -> None:
    more = ("mask", "page_size", "pages", "seqlen_new", "rotary_dim", "total_q", "min_seqlen_k", "finite_kv", "gaps_q")
    assert (*ALL, *more) == KEYS


@pytest.mark.parametrize("signature", KEYS_OF)
def test_a_signature_has_the_keys_of_its_traits_said_and_told(signature: str) -> None:
    known = (*ALL, *KEYS_OF[signature])
    values = {key: str(at) for at, key in enumerate(known, 2)} | {"mask": "t:5,6,7"}
    values |= dict.fromkeys(("finite_kv", "gaps_q"), "1")
    said = {key: value for key, value in values.items() if key in known}
    shape = shape_of(signature, *(f"{key}={value}" for key, value in reversed(said.items())))
    document = sizes_document(parse_canonical(f"fmha_{signature}").traits, shape)
    assert tuple(document) == known
    assert document == {key: value if key == "mask" else int(value) for key, value in said.items()}
    assert not any(isinstance(value, bool) for value in document.values())
    for key in set(KEYS) - set(known):
        told = f"word 1, '{key}=1': the signature has no use for {key} (keys: {', '.join(known)})"
        assert refusal(signature, f"{key}=1", "heads_q=x") == told


def test_sizes_that_are_not_said_are_like_others_or_usual() -> None:
    assert shape_of("bf16", *LEAST) == FmhaShape(1, 4, 4, 5, 5, 64, 64)
    said = ("batch=2", "heads_k=1", "seqlen_k=0", "hdim_v=-3")
    assert shape_of("bf16", *LEAST, *said) == FmhaShape(2, 4, 1, 5, 0, 64, -3)
    paged = shape_of("bf16_varlen_masked_blocktable", *LEAST)
    assert paged == FmhaShape(1, 4, 4, 5, 5, 64, 64)
    assert (paged.page_size, paged.finite_kv, paged.gaps_q, paged.total_q) == (0, False, False, 0)


def test_new_rows_rotate_whole_unless_it_is_said_otherwise() -> None:
    plain = shape_of("bf16_append", *APPEND)
    assert plain == FmhaShape(1, 4, 4, 0, 9, 64, 64, seqlen_new=3)
    assert shape_of("bf16_append", *APPEND, "seqlen_q=2", "heads_k=2", "hdim_v=32") == FmhaShape(
        1, 4, 2, 2, 9, 64, 32, seqlen_new=3
    )
    for signature in ("bf16_append_rope_half", "bf16_append_rope_interleaved"):
        rotates = FmhaShape(1, 4, 4, 3, 9, 64, 64, seqlen_new=3, rotary_dim=64)
        assert shape_of(signature, *APPEND) == rotates
        partly = FmhaShape(1, 4, 4, 0, 9, 64, 64, seqlen_new=3, rotary_dim=8)
        assert shape_of(signature, *APPEND, "seqlen_q=0", "rotary_dim=8") == partly


@pytest.mark.parametrize(
    ("word", "corner", "left", "right", "sink"),
    [
        ("none", "b", -1, -1, 0),
        ("causal", "b", -1, 0, 0),
        ("bottomright", "b", -1, 0, 0),
        ("topleft", "t", -1, 0, 0),
        ("window:127,0", "b", 127, 0, 0),
        ("window:127,-1,4", "b", 127, -1, 4),
        ("t:1,2,3", "t", 1, 2, 3),
        ("b:1,2", "b", 1, 2, 0),
    ],
)
def test_masks_are_words_or_windows(word: str, corner: str, left: int, right: int, sink: int) -> None:
    found = shape_of("bf16_masked", *LEAST, f"mask={word}")
    of = FmhaCorner.TOP_LEFT if corner == "t" else FmhaCorner.BOTTOM_RIGHT
    assert found == FmhaShape(1, 4, 4, 5, 5, 64, 64, of, left, right, sink)


@pytest.mark.parametrize(
    ("word", "read"), [("diagonal", "diagonal"), ("", ""), ("window:1", "b:1"), ("window:t:1,2", "b:t:1,2")]
)
def test_other_masks_are_refused(word: str, read: str) -> None:
    assert refusal("bf16_masked", *LEAST, f"mask={word}") == f"mask '{read}' is not {FORMS}"


@pytest.mark.parametrize(
    ("signature", "words", "said"),
    [
        ("bf16", (), "fmha_bf16 needs heads_q=…, seqlen_q=…, hdim_q=…"),
        ("bf16", ("seqlen_q=x",), "fmha_bf16 needs heads_q=…, hdim_q=…"),
        ("bf16_append", (), "fmha_bf16_append needs heads_q=…, seqlen_new=…, seqlen_k=…, hdim_q=…"),
        ("bf16_append_rope_half", APPEND[1:], "fmha_bf16_append_rope_half needs heads_q=…"),
        ("bf16", (*LEAST, "128"), f"word 4, '128', is no KEY=VALUE (keys: {', '.join(ALL)})"),
        ("bf16_masked", ("batch",), f"word 1, 'batch', is no KEY=VALUE (keys: {', '.join((*ALL, 'mask'))})"),
        ("bf16", ("batch=1", "headsq=1"), "word 2, 'headsq=1': unknown key 'headsq'; did you mean 'heads_q'?"),
        ("bf16", ("maks=1",), f"word 1, 'maks=1': unknown key 'maks' (keys: {', '.join(ALL)})"),
        ("bf16_masked", ("maks=1",), "word 1, 'maks=1': unknown key 'maks'; did you mean 'mask'?"),
        ("bf16", ("=1",), f"word 1, '=1': unknown key '' (keys: {', '.join(ALL)})"),
        ("bf16", ("zzz=1=2",), f"word 1, 'zzz=1=2': unknown key 'zzz' (keys: {', '.join(ALL)})"),
        ("bf16", (*LEAST, "heads_q=1"), "word 4, 'heads_q=1': heads_q stands twice"),
        ("bf16_masked", ("mask=none", "mask=none"), "word 2, 'mask=none': mask stands twice"),
        ("bf16", (*LEAST, "batch=many"), "batch=many: not an integer"),
        ("bf16", (*LEAST, "batch="), "batch=: not an integer"),
        ("bf16", (*LEAST, "batch=1=2"), "batch=1=2: not an integer"),
    ],
)
def test_the_word_that_is_wrong_is_told(signature: str, words: tuple[str, ...], said: str) -> None:
    assert refusal(signature, *words) == said


@pytest.mark.parametrize(
    ("op", "inside"),
    [("fmha:bf16", "bf16"), ("fmha_bf16_masked", "bf16_masked"), ("fmha:", ""), ("fmha:fmha_bf16", "fmha_bf16"),
     ("fmha", None), ("gemm", None), ("xfmha:bf16", None), ("fmha-bf16", None), ("", None)],
)  # fmt: skip
def test_a_signature_stands_behind_the_op(op: str, inside: str | None) -> None:
    assert signature_in(op) == inside


def test_a_signature_is_said_once() -> None:
    expected = parse_canonical("fmha_bf16_masked")
    for asked in (
        Asked("fmha:bf16_masked", sizes=LEAST),
        Asked("fmha_bf16_masked"),
        Asked("fmha: bf16_masked "),
        Asked("fmha", " bf16_masked "),
        Asked("fmha", "fmha_bf16_masked"),
        Asked("fmha", "fmha:bf16_masked"),
    ):
        assert asked_signature(asked, None) == expected
    for flavour, name in ((Fp8Flavour.OCP, "fp8_ocp"), (Fp8Flavour.FNUZ, "fp8_fnuz")):
        found = asked_signature(Asked("fmha:fp8_bf16_pertensor"), flavour)
        assert found.canonical() == f"fmha_{name}_bf16_pertensor"


@pytest.mark.parametrize("asked", [Asked("fmha"), Asked("fmha:bf16", "bf16"), Asked("fmha_bf16", "")])
def test_none_and_two_are_refused(asked: Asked) -> None:
    with pytest.raises(UsageError) as told:
        asked_signature(asked, None)
    said = "fmha needs one signature: behind its colon, as in fmha:bf16_masked, or as --signature"
    assert str(told.value) == said


@pytest.mark.parametrize("asked", [Asked("fmha:"), Asked("fmha", ""), Asked("fmha", " ")])
def test_an_empty_one_is_no_signature(asked: Asked) -> None:
    with pytest.raises(UsageError) as told:
        asked_signature(asked, None)
    assert str(told.value).startswith("not a canonical signature: 'fmha_' (expected fmha_<dtypes>")


@pytest.mark.parametrize(
    ("option", "value"),
    [("shape", "1,2,3"), ("batch", "1"), ("groups", "1x2x3"), ("groups_on_device", "1:1x2x3"), ("experts", 1),
     ("top_k", 1), ("block_m", 16), ("module", "m")],
)  # fmt: skip
def test_options_of_other_ops_are_refused(option: str, value: str | int) -> None:
    with pytest.raises(UsageError) as told:
        asked_signature(Asked("fmha:bf16", **{option: value}), None)  # type: ignore[arg-type]
    assert str(told.value) == f"--{option.replace('_', '-')} is not an option of fmha"
