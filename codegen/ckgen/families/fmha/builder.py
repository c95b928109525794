"""Problems of attention said word by word, as ckgen/fmha_builder.hpp has it: the same setters, the same refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ckgen.families.fmha.builder_tables import ADVICE, CONTRADICTIONS, SETTERS
from ckgen.families.fmha.enums import (
    FmhaBias,
    FmhaCorner,
    FmhaDropout,
    FmhaEntry,
    FmhaKv,
    FmhaKvLayout,
    FmhaQuant,
    FmhaRope,
)
from ckgen.families.fmha.problem import check_problem
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.suggestion import nearest_or_all
from ckgen.model.word import Word

W = TypeVar("W", bound=Word)


@dataclass(frozen=True, slots=True)
class FmhaProblem:
    """A legal problem: `lib.plan(problem.signature, problem.shape, **problem.wishes)` and `lib.choice` take it."""

    signature: str
    shape: FmhaShape
    wishes: Mapping[str, Any]


class FmhaBuilder:
    """Each setter returns the builder; the last call of one counts. Words are members of enums, or their texts.

    `build()` refuses what contradicts itself, with what to do; setters refuse a word that is none (UsageError). One
    thread.
    """

    def __init__(self) -> None:
        self._called: set[str] = set()
        self._types: tuple[DType, ...] = ()
        self._traits: dict[str, Any] = {}
        self._shape = FmhaShape()
        self._wishes: dict[str, Any] = {}

    def types(self, q: DType | str, kv: DType | str | None = None, o: DType | str | None = None) -> FmhaBuilder:
        """Of Q, of K and V, and of O: Q's unless said."""
        kinds = tuple(_word(DType, one) for one in (q, q if kv is None else kv, q if o is None else o))
        self._types = kinds
        return self._call("types")

    def batch(self, sequences: int) -> FmhaBuilder:
        """Sequences; 1 unless said."""
        return self._call("batch", {"batch": sequences})

    def heads(self, q: int, k: int | None = None) -> FmhaBuilder:
        """Query heads, and KV heads that they share (GQA, MQA): as many unless said."""
        return self._call("heads", {"heads_q": q, "heads_k": q if k is None else k})

    def seqlen(self, q: int, k: int | None = None) -> FmhaBuilder:
        """Rows of Q and of K: as many unless said; of varlen those of the longest sequences.

        Of append: rows of Q that rotate, and the room of a sequence in the cache.
        """
        return self._call("seqlen", {"seqlen_q": q, "seqlen_k": q if k is None else k})

    def hdim(self, q: int, v: int | None = None) -> FmhaBuilder:
        """Elements of a head of Q and K, and of V and O: as many unless said."""
        return self._call("hdim", {"hdim_q": q, "hdim_v": q if v is None else v})

    def backward(self) -> FmhaBuilder:
        """Gradients."""
        return self._call("backward", traits={"entry": FmhaEntry.BACKWARD})

    def append(self, seqlen_new: int) -> FmhaBuilder:
        """New rows into a cache."""
        return self._call("append", {"seqlen_new": seqlen_new}, {"entry": FmhaEntry.APPEND})

    def rope(self, kind: FmhaRope | str, rotary_dim: int) -> FmhaBuilder:
        """Of append: which elements rotate together, and how many of a head rotate."""
        return self._call("rope", {"rotary_dim": rotary_dim}, {"rope": _word(FmhaRope, kind)})

    def varlen(self, total_q: int = 0, *, gaps_q: bool = False) -> FmhaBuilder:
        """Sequences one after the other; rows of Q of all (0: batch times seqlen), and whether some lie between."""
        return self._call("varlen", {"total_q": total_q, "gaps_q": gaps_q}, {"varlen": True})

    def causal(self, corner: FmhaCorner | str = FmhaCorner.BOTTOM_RIGHT) -> FmhaBuilder:
        """Each row sees the keys up to its own."""
        return self._masked("causal", -1, 0, corner)

    def window(self, left: int, right: int, corner: FmhaCorner | str = FmhaCorner.BOTTOM_RIGHT) -> FmhaBuilder:
        """Columns beside the diagonal; -1 is no limit."""
        return self._masked("window", left, right, corner)

    def sink_tokens(self, columns: int) -> FmhaBuilder:
        """The first columns, seen beside a window."""
        return self._call("sink_tokens", {"sink_tokens": columns})

    def bias(self) -> FmhaBuilder:
        """A matrix that is added to the scores."""
        return self._call("bias", traits={"bias": FmhaBias.ELEMENTWISE})

    def alibi(self) -> FmhaBuilder:
        """Slopes per head."""
        return self._call("alibi", traits={"bias": FmhaBias.ALIBI})

    def softcap(self) -> FmhaBuilder:
        """softcap * tanh(S / softcap); the number is an argument of the run."""
        return self._call("softcap", traits={"softcap": True})

    def sink(self) -> FmhaBuilder:
        """One logit more per query head."""
        return self._call("sink", traits={"sink": True})

    def lse(self) -> FmhaBuilder:
        """Log-sum-exp is written."""
        return self._call("lse", traits={"lse": True})

    def dropout(self) -> FmhaBuilder:
        """By bytes that are drawn from a seed and an offset, arguments of the run as the share is."""
        return self._call("dropout", traits={"dropout": FmhaDropout.PHILOX})

    def randval(self) -> FmhaBuilder:
        """By given bytes."""
        return self._call("randval", traits={"dropout": FmhaDropout.RANDVAL})

    def quant(self, kind: FmhaQuant | str) -> FmhaBuilder:
        """What shares a descale, of 8-bit types."""
        return self._call("quant", traits={"quant": _word(FmhaQuant, kind)})

    def v_column(self) -> FmhaBuilder:
        """V is [hdim_v][length_k] per head."""
        return self._call("v_column", traits={"v_column": True})

    def block_table(self, page_size: int, pages: int = 0) -> FmhaBuilder:
        """K and V in pages, a row of numbers per sequence; 0 pages: their number is not known."""
        return self._call("block_table", {"page_size": page_size, "pages": pages}, {"kv": FmhaKv.BLOCK_TABLE})

    def page_list(self, page_size: int, pages: int = 0) -> FmhaBuilder:
        """K and V in pages, one list for all sequences."""
        return self._call("page_list", {"page_size": page_size, "pages": pages}, {"kv": FmhaKv.PAGE_LIST})

    def vectorized(self) -> FmhaBuilder:
        """Pages of vectors of 16 bytes."""
        return self._call("vectorized", traits={"kv_layout": FmhaKvLayout.VECTORIZED})

    def min_seqlen_k(self, keys: int) -> FmhaBuilder:
        """A promise: the least keys of a sequence."""
        return self._call("min_seqlen_k", {"min_seqlen_k": keys})

    def finite_kv(self) -> FmhaBuilder:
        """A promise: unused rows of pages are finite."""
        return self._call("finite_kv", {"finite_kv": True})

    def splits(self, items: int, combines: int, rows: int, *, m0: int, n0: int, merged: bool = False) -> FmhaBuilder:
        """A schedule of unequal splits of KV, by the numbers that FmhaShape has of it."""
        return self._call(
            "splits",
            {
                "split_items": items,
                "split_combines": combines,
                "split_rows": rows,
                "split_m0": m0,
                "split_n0": n0,
                "split_merged": merged,
            },
        )

    def deterministic(self) -> FmhaBuilder:
        """The same bits in every run."""
        return self._wish("deterministic", True)

    def batch_invariant(self) -> FmhaBuilder:
        """And whatever other sequences stand beside."""
        return self._wish("batch_invariant", True)

    def num_threads(self, most: int) -> FmhaBuilder:
        """Of this CPU."""
        return self._wish("num_threads", most)

    def build(self) -> FmhaProblem:
        """The problem; UsageError with the first rule that what was said breaks, and what to do."""
        for rule, called, without, sentence in CONTRADICTIONS:
            if self._called.issuperset(called) and self._called.isdisjoint(without):
                raise UsageError(f"{sentence} (rule {rule})")
        q, kv, o = self._types
        signature = FmhaSignature.of(q, o, b=kv, **self._traits)
        if (broken := next(signature.broken(), None)) is not None:
            raise UsageError(_advised(broken[1], broken[0]))
        if (finding := check_problem(signature, self._shape)) is not None:
            raise UsageError(_advised(finding.text, finding.rule))
        return FmhaProblem(signature.canonical(), self._shape, dict(self._wishes))

    def _masked(self, setter: str, left: int, right: int, corner: FmhaCorner | str) -> FmhaBuilder:
        sizes = {"window_left": left, "window_right": right, "corner": _word(FmhaCorner, corner)}
        return self._call(setter, sizes, {"masked": True})

    def _wish(self, name: str, value: object) -> FmhaBuilder:
        self._wishes[name] = value
        return self._call(name)

    def _call(
        self, setter: str, sizes: Mapping[str, Any] | None = None, traits: Mapping[str, Any] | None = None
    ) -> FmhaBuilder:
        assert setter in SETTERS
        self._called.add(setter)
        self._shape = replace(self._shape, **(sizes or {}))
        self._traits |= traits or {}
        return self


def _word(kind: type[W], given: W | str) -> W:
    """The member; UsageError for a text that is none's."""
    try:
        return kind(given)
    except ValueError:
        known = [str(one) for one in kind]
        raise UsageError(f"'{given}' is no {kind.__name__} ({nearest_or_all(str(given), known)})") from None


def _advised(sentence: str, rule: str) -> str:
    return f"{sentence}: {ADVICE[rule]}" if rule in ADVICE else sentence
