"""Cases of mixtures of experts, for the checker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ckgen.families.common.comparison import Expected
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import Storage, Values, decode, encode
from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.reference import shuffle_mx_scale
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.asked import RoutedSizes
from ckgen.families.moe.exact_operands import exact_operands
from ckgen.families.moe.reference import MoeOperands, MoeSize, expect, make_operands, of_tokens
from ckgen.fuzz.arguments import UNREAD, UNWRITTEN, matrix, raw, strides_of
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.data import wrong
from ckgen.fuzz.decision import Decision
from ckgen.fuzz.gemm import first_refusal, fit, parts_of
from ckgen.fuzz.layout import Placed
from ckgen.fuzz.memory import Bytes, Matrix, plain
from ckgen.fuzz.once import Once
from ckgen.fuzz.operation import FuzzedOperation, Result
from ckgen.fuzz.outcome import CaseFailure, FailureKind
from ckgen.fuzz.routing import ids_of, sorted_tokens
from ckgen.fuzz.sampling import Budget, Rows
from ckgen.model.dtype import DType
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape
from ckgen.runtime import ProblemStruct, RuntimeLibrary
from ckgen.runtime.moe import MoeArgsStruct, SortedTokensStruct

_SORTED = ("token_ids", "weights", "expert_ids", "valid")


@dataclass(frozen=True, slots=True)
class MoeGiven:
    """See Given."""

    operands: MoeOperands
    args: MoeArgsStruct
    c: Matrix
    inputs: dict[str, Matrix]
    known: Once[Expected] = field(default_factory=Once)
    tokens: Once[Rows] = field(default_factory=Once)

    def wrong(self) -> str:
        """See Given."""
        text, tokens = wrong_layer(self.expected(), self._found()), self.tokens.known
        return text if not text or tokens is None else f"{text}, counting {len(tokens)} drawn tokens"

    def expected(self) -> Expected:
        """What must come out."""
        tokens = self.tokens.known
        operands = self.operands if tokens is None else of_tokens(self.operands, tokens)
        return self.known.of(lambda: expect(operands))

    def results(self) -> Iterator[Result]:
        """See Given."""
        expected = self.expected()
        yield Result(expected, decode(self._found()).reshape(expected.c.shape))

    def sample(self, budget: Budget) -> None:
        """See Given; drawn tokens, with all their rows."""
        size = self.operands.size
        rows = size.routing.top_k
        tokens = budget.rows(
            size.tokens, 3 * rows * size.n * size.k, rows * max(size.n, size.k), len(self.operands.ids)
        )
        if tokens is not None:
            self.tokens.of(lambda: tokens)

    def matrices(self) -> Iterator[Matrix]:
        """See Given."""
        yield from (self.c, *self.inputs.values())

    def _found(self) -> Storage:
        c = encode(np.zeros(1), self.operands.signature.c)
        found: Storage = np.ascontiguousarray(self.c.lines[0]).view(c.dtype)
        tokens = self.tokens.known
        return found if tokens is None else found.reshape(self.operands.size.tokens, -1)[tokens]

    def sensitivity(self) -> Sensitivity:
        """See Given."""
        return self.expected().sensitivity

    def out_of_bounds_writes(self) -> str:
        """See Given."""
        matrices = (("C", self.c), *self.inputs.items())
        return next((f"{name}: {text}" for name, one in matrices if (text := one.out_of_bounds_writes())), "")


@dataclass(frozen=True, slots=True)
class MoeWork:
    """See Work. A problem has a routing in place of a batch."""

    case: Case
    decision: Decision

    def problem(self, library: RuntimeLibrary) -> ProblemStruct:
        """See Work."""
        case = self.case
        return library.problem(
            case.signature, case.m, case.n, case.k,
            deterministic=case.deterministic, batch_invariant=case.batch_invariant,
            strategy=case.strategy, routing=routing_of(case), block_m=case.block_m,
        )  # fmt: skip

    def dense_refusal(self) -> str:
        """See Work."""
        case = replace(self.case, gap_a=0, gap_c=0)
        h = _placed("H", DType.FP32, case.m * case.top_k, case.n, 0)
        every = (*_placed_all(self.decision.signature, case), h)
        return next(
            (f"{one.name} has more bits than 64-bit integers count" for one in every if not one.is_countable), ""
        )

    def is_small(self, work: int, elements: int, extent: int) -> bool:
        """See Work; an expert's weights count as rows do."""
        case, signature = self.case, self.decision.signature
        rows = max(case.m * case.top_k, case.experts)
        products = 3 if signature.moe.part is MoePart.LAYER else 2
        every = _placed_all(signature, case)
        most = max(one.lines * one.length for one in every)
        return rows * case.n * case.k * products <= work and most <= elements and fit(every, extent)

    def refusal(self) -> str:
        """See Work."""
        return first_refusal(_placed_all(self.decision.signature, self.case))

    def null_args(self, address: int) -> MoeArgsStruct:
        """See Work."""
        names = ("a", "w1", "w2", "c", "a_scale", "w1_scale", "w2_scale", "topk_ids", "topk_weights")
        of_a, of_c, *_ = _placed_all(self.decision.signature, self.case)
        everywhere = SortedTokensStruct(*[address] * len(_SORTED))
        pointers = dict.fromkeys(names, address)
        return MoeArgsStruct(**pointers, tokens=self.case.m, lda=of_a.ld, ldc=of_c.ld, sorted=everywhere)

    def given(self, library: RuntimeLibrary, block_m: int, parts: int) -> MoeGiven:
        """See Work."""
        case, signature = self.case, self.decision.signature
        operands = operands_of(signature, case)
        of_a, of_c, *_ = _placed_all(signature, case)
        inputs = {"A": matrix(of_a, operands.bytes_of_a()[None])}
        for name, weights in (("w1", operands.w1), ("w2", operands.w2)):
            if weights is not None:
                inputs[name] = _plain(operands.bytes_of(weights))
                self._add_scale(inputs, f"{name}_scale", weights.scales)
        self._add_scale(inputs, "a_scale", operands.a_scale)
        is_sorted = case.is_sorted or signature.moe.part is not MoePart.LAYER
        if is_sorted:
            inputs |= _sorted(library, operands, block_m)
        else:
            inputs["topk_ids"], inputs["topk_weights"] = _plain(operands.ids), _plain(operands.weights)
        c = Matrix(strides_of(of_c), UNWRITTEN, None)
        places = {name: one.address for name, one in inputs.items() if name not in ("A", *_SORTED)}
        args = MoeArgsStruct(
            a=inputs["A"].address,
            c=c.address,
            tokens=case.m,
            lda=of_a.ld,
            ldc=of_c.ld,
            a_scale_row_major=int(not case.scale_columns),
            mx_scale_shuffled=int(case.scale_shuffled),
            **places,
        )
        if is_sorted:
            args.sorted = SortedTokensStruct(*(inputs[name].address for name in _SORTED))
        return MoeGiven(operands, args, c, inputs)

    def _add_scale(self, inputs: dict[str, Matrix], name: str, values: Values | None) -> None:
        signature, case = self.decision.signature, self.case
        if values is None or signature.scale is None:
            return
        stored = encode(values, signature.scale)
        if signature.quant is Quant.MX and case.scale_shuffled:
            stored = shuffle_mx_scale(stored if name != "a_scale" else stored[None])
        elif signature.quant is Quant.BLOCKSCALE and case.scale_columns and name == "a_scale":
            stored = stored.T
        inputs[name] = _plain(stored)


def operands_of(signature: GemmSignature, case: Case) -> MoeOperands:
    """The case's data and routing: exact ones for integers, random values for every other kind but zeros."""
    size = MoeSize(case.m, case.n, case.k, routing_of(case))
    if case.data is Data.INTEGERS:
        return exact_operands(signature, size, case.seed, ids_of(case))
    operands = replace(make_operands(signature, size, case.seed), ids=ids_of(case))
    return replace(operands, a=operands.a * 0) if case.data is Data.ZEROS else operands


def wrong_layer(expected: Expected, c: Storage) -> str:
    """The first element of C that is wrong; empty if there is none."""
    return wrong(replace(expected, c=expected.c[None], bound=expected.bound[None]), c)


def _sorted(library: RuntimeLibrary, operands: MoeOperands, block_m: int) -> dict[str, Matrix]:
    """What the runtime's sort makes of the routing, which is what the definition says."""
    tokens, routing = operands.size.tokens, operands.size.routing
    wanted = sorted_tokens(operands.ids, operands.weights, routing, block_m)
    capacity = library.sorted_capacity(tokens, routing, block_m)
    sizes = (capacity, capacity, capacity // max(block_m, 1), 2)
    if capacity < len(wanted[0]):
        raise CaseFailure(FailureKind.RESULT, f"sorted tokens need room for {len(wanted[0])}, not {capacity}")
    ids, weights = _plain(operands.ids), _plain(operands.weights)
    found = {name: _plain(np.full(4 * size, UNREAD, np.uint8)) for name, size in zip(_SORTED, sizes, strict=True)}
    places = SortedTokensStruct(*(found[name].address for name in _SORTED))
    library.sort_tokens(ids.address, weights.address, tokens, routing, block_m, places)
    for name, array in zip(_SORTED, wanted, strict=True):
        made = found[name]
        size = array.nbytes
        made.stored = made.lines.copy()
        if raw(array).tobytes() != made.lines.tobytes()[:size]:
            raise CaseFailure(FailureKind.RESULT, f"{name} of the sorted tokens is wrong")
    return found


def _plain(stored: Storage) -> Matrix:
    flat: Bytes = raw(np.ascontiguousarray(stored).reshape(-1))
    return plain(flat, UNREAD)


def _placed_all(signature: GemmSignature, case: Case) -> tuple[Placed, ...]:
    """A, C, W1 and W2 as far as the part has them, all experts' weights as one."""
    part = signature.moe.part
    rows = case.m * case.top_k
    gates = 2 if signature.moe.gated else 1
    is_down, is_layer = part is MoePart.DOWN, part is MoePart.LAYER
    found = [
        _placed("A", signature.a, rows if is_down else case.m, case.k, case.gap_a),
        _placed(
            "C", signature.c, rows if part is MoePart.GATE_UP else case.m, case.k if is_layer else case.n, case.gap_c
        ),
    ]
    if not is_down:
        found.append(_placed("W1", signature.b, gates * case.n * case.experts, case.k, 0))
    if is_layer:
        found.append(_placed("W2", signature.b, case.k * case.experts, case.n, 0))
    elif is_down:
        found.append(_placed("W2", signature.b, case.n * case.experts, case.k, 0))
    return tuple(found)


def _placed(name: str, dtype: DType, lines: int, length: int, gap: int) -> Placed:
    return Placed(name, dtype, lines, length, length + gap, 1, 0)


def routing_of(case: Case) -> Routing:
    """Experts and top_k."""
    return Routing(case.experts, case.top_k)


def sizes_of(case: Case, signature: GemmSignature) -> RoutedSizes:
    """Tokens, sizes of the first product, routing and order."""
    return RoutedSizes(Shape(0, case.m, case.n, case.k), routing_of(case), case.block_m)


def asked(case: Case, problem: RoutedSizes) -> Case:
    """The case with the sizes of experts."""
    shape, routing = problem.shape, problem.routing
    sized = replace(case, m=shape.m, n=shape.n, k=shape.k, block_m=problem.block_m)
    return replace(sized, experts=routing.experts, top_k=routing.top_k)


def flops(case: Case, signature: GemmSignature) -> int:
    """Of all slots of all tokens."""
    gate_up = 2 if signature.moe.gated else 1
    products = {MoePart.GATE_UP: gate_up, MoePart.DOWN: 1, MoePart.LAYER: gate_up + 1}[signature.moe.part]
    return 2 * case.m * case.top_k * case.n * case.k * products


OPERATION = FuzzedOperation(sizes_of, MoeWork, parts_of, asked, flops, has_exact_data=True)
