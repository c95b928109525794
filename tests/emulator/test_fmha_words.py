"""Words of a command line as attention problems of the emulator."""

from __future__ import annotations

import pytest

from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.errors import UsageError
from ckgen_emulator.fmha.append import AppendProblem
from ckgen_emulator.fmha.asked import AskedFmha, problem_of
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.gemm.problem import Data

PLAIN, VARLEN = "fmha_bf16", "fmha_bf16_varlen_masked_lse"
PAGED, APPEND = "fmha_bf16_blocktable_vectorized", "fmha_bf16_append_varlen"
HEADS = ("heads_q=4", "hdim_q=64")


def asked(signature: str, *sizes: str, lengths: str | None = None, splits: int = 1) -> FmhaProblem | AppendProblem:
    return problem_of(parse_canonical(signature), AskedFmha(sizes, lengths, splits, 7, Data.RANDOM))


def test_equal_sequences_are_a_batch_of_sizes() -> None:
    problem = asked(PLAIN, *HEADS, "heads_k=2", "hdim_v=32", "batch=2", "seqlen_q=5", "seqlen_k=9", splits=3)
    assert problem == FmhaProblem((5, 5), (9, 9), 4, 2, 64, 32, seed=7, splits=3, data=Data.RANDOM)


def test_lengths_say_each_sequence_and_may_repeat() -> None:
    problem = asked(VARLEN, *HEADS, "mask=t:20,3", lengths="5x66, 2*1x128,0x7")
    assert isinstance(problem, FmhaProblem)
    assert (problem.lengths_q, problem.lengths_k) == ((5, 1, 1, 0), (66, 128, 128, 7))
    assert (problem.corner, problem.window_left, problem.window_right) == (FmhaCorner.TOP_LEFT, 20, 3)


def test_sequences_of_append_have_rows_before_and_new_ones() -> None:
    problem = asked(APPEND, *HEADS, lengths="40+1,3*0+16")
    assert problem == AppendProblem((40, 0, 0, 0), (1, 16, 16, 16), 4, 4, 64, 64, seed=7, data=Data.RANDOM)
    assert asked(APPEND, *HEADS, "batch=2", "seqlen_k=8", "seqlen_new=3") == AppendProblem(
        (8, 8), (3, 3), 4, 4, 64, 64, seed=7, data=Data.RANDOM
    )


@pytest.mark.parametrize(
    ("signature", "sizes", "lengths", "splits", "said"),
    [
        (PLAIN, HEADS, None, 1, "needs seqlen_q=…"),
        (PLAIN, HEADS, "1x5,2x5", 1, "have the same rows of Q, as it is not varlen"),
        (PLAIN, (*HEADS, "seqlen_q=5"), "1x5", 1, "seqlen_q stands beside --lengths"),
        (PLAIN, (*HEADS, "total_q=5"), "1x5", 1, "'total_q=5': it follows from the lengths"),
        (PLAIN, (*HEADS, "seqlen_q=5", "batch=0"), None, 1, "batch=0: from 1 to 4096 sequences"),
        (PLAIN, HEADS, "5", 1, "--lengths takes QxK,…, as in 5x66,3*1x128; got '5'"),
        (PLAIN, HEADS, "5+66", 1, "--lengths takes QxK"),
        (PLAIN, HEADS, "4096*1x1,1x1", 1, "at most 4096 sequences, got 4097"),
        (PAGED, (*HEADS, "seqlen_q=1"), None, 1, "needs page_size=…"),
        (APPEND, HEADS, "5x66", 1, "--lengths takes BEFORE+NEW"),
        (APPEND, HEADS, "5+1", 2, "--splits: a kernel that appends has none"),
        ("fmha_bf16_append", HEADS, "5+1,5+2", 1, "get as many new rows each, as it is not varlen"),
    ],
)
def test_what_means_nothing_is_a_usage_error(
    signature: str, sizes: tuple[str, ...], lengths: str | None, splits: int, said: str
) -> None:
    with pytest.raises(UsageError) as error:
        asked(signature, *sizes, lengths=lengths, splits=splits)
    assert said in str(error.value)
