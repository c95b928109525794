"""Emulated attention as it is judged: results that are wrong on purpose are told, at every problem that tests use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from ckgen.families.fmha.append_config import HipAppendConfig
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.config import Tile
from ckgen_emulator.fmha.append import append_cases, append_data
from ckgen_emulator.fmha.cases import cases
from ckgen_emulator.fmha.decode_cases import decode_cases
from ckgen_emulator.fmha.problem import fmha_data
from ckgen_emulator.production.model import Output, Values, compare

FORWARD = parse_canonical("fmha_bf16_varlen_masked_lse")
TILED = CkTileFmhaConfig(FmhaPipeline.QR_ASYNC, 128, 64, 32, 64, 32, 64, (4, 1, 1), Tile(32, 32, 16))
SCALED = parse_canonical("fmha_bf16_fp8_fnuz_bf16_varlen_masked_sink_lse_kvblockscale_blocktable")
CAPPED = parse_canonical("fmha_fp16_masked_softcap_lse_pagelist_vectorized")
APPEND = parse_canonical("fmha_bf16_append_blocktable_rope_half")
TILE = 16


def outputs() -> Iterator[Output]:
    for signature, problems in (
        (FORWARD, cases(FORWARD, TILED)),
        (SCALED, decode_cases(SCALED, HipFmhaConfig(16, 256, 64, 128))),
        (CAPPED, decode_cases(CAPPED, HipFmhaConfig(16, 128, 128, 64))),
    ):
        yield from (fmha_data(signature, problem).outputs[0] for problem in problems)
    for one in append_cases(APPEND, HipAppendConfig(8)):
        yield from append_data(APPEND, one)[3]


def planted(right: Values, places: np.ndarray) -> Iterator[tuple[str, Values]]:
    """Changes of numbers that count and are not 0, at `places`."""
    for what, at, by in (
        ("a tile is zero", places[:TILE], 0.0),
        ("a sign is flipped", places[:1], -1.0),
        ("all is 1.004 times as much", slice(None), 1.004),
    ):
        changed = right.astype(np.float64)
        changed[at] = changed[at] * by
        yield what, changed.astype(right.dtype)


def test_planted_errors_are_told() -> None:
    same = checked = bits = 0
    for output in outputs():
        expected = np.asarray(output.expected, np.float64)
        bound = np.broadcast_to(np.asarray(output.bound, np.float64), expected.shape)
        right = expected.astype(output.actual.dtype)
        assert compare(replace(output, actual=right)).wrong == 0
        places = np.flatnonzero(np.isfinite(expected) & np.isfinite(bound) & (right != 0))
        if not len(places):
            continue
        for what, found in planted(right, places):
            checked += 1
            if np.array_equal(found[places], right[places]):
                same += 1
            else:
                assert compare(replace(output, actual=found)).wrong, what
        exact = places[bound[places] < 1e-30]
        if len(exact):
            off = right.copy()
            off.view(f"u{off.itemsize}")[exact[-1]] ^= 1
            assert compare(replace(output, actual=off)).wrong == 1
            bits += 1
    assert checked > 80 and same < 0.05 * checked and bits > 20, (checked, same, bits)


@pytest.mark.parametrize("signature", [FORWARD, SCALED], ids=str)
def test_o_of_the_problems_is_known_to_the_last_bit(signature: object) -> None:
    found = cases(FORWARD, TILED) if signature is FORWARD else decode_cases(SCALED, HipFmhaConfig(16, 256, 64, 128))
    for problem in found:
        output = fmha_data(FORWARD if signature is FORWARD else SCALED, problem).outputs[0]
        counts = np.isfinite(output.bound) & np.isfinite(output.expected) & (np.asarray(output.expected) != 0)
        assert (np.asarray(output.bound)[counts] < 1e-30).mean() > 0.85, problem
