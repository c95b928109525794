"""Small problems that reach what our kernel over a KV cache distinguishes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.problem import page_vector
from ckgen.families.fmha.signature import FmhaSignature
from ckgen_emulator.fmha.problem import FmhaProblem


def decode_cases(signature: FmhaSignature, config: HipFmhaConfig) -> tuple[FmhaProblem, ...]:
    """One row; several tiles and steps with rests, empty sequences, windows and sink tokens from both corners."""
    return tuple(dict.fromkeys(_cases(signature, config)))


def _cases(signature: FmhaSignature, config: HipFmhaConfig) -> Iterator[FmhaProblem]:
    step = config.n0
    one = FmhaProblem((1,), (step // 4 + 3,), hdim_q=config.hdim_q, hdim_v=config.hdim_v)
    paged, vector = signature.traits.is_paged, page_vector(signature)
    if paged:
        one = replace(one, page_size=16)
    yield one
    several = replace(one, heads_q=8, heads_k=2)
    if signature.traits.varlen:
        rested = replace(several, lengths_q=(3, 5, 0, 2), lengths_k=(2 * step + 44, step + 1, 7, 0))
        yield rested
        if not paged:
            yield replace(rested, spare=3, seed=1)
    else:
        rested = replace(several, lengths_q=(3, 3, 3), lengths_k=(2 * step + 44, step + 1, 0))
        yield rested
        yield replace(rested, lengths_k=(90, 90, 90), head_first=True, seed=1)
    if signature.traits.masked:
        yield replace(rested, window_left=20, window_right=5, seed=2)
        yield replace(rested, window_left=20, window_right=2, sink_tokens=11, seed=3)
        yield replace(rested, window_left=20, corner=FmhaCorner.TOP_LEFT, sink_tokens=3, seed=4)
    for size in (vector, 3 * vector, 2048) if paged else ():
        yield replace(rested, page_size=size, window_left=70, sink_tokens=9, seed=size)
