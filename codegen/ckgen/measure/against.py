"""Peers in the process that measures: what they offer for the operands of a candidate, and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.families.common.storage import encode
from ckgen.families.gemm.enums import Layout, OperandOp, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.gemm import GemmGiven
from ckgen.fuzz.operation import Given, Result
from ckgen.measure.device_memory import DevicePlaced
from ckgen.measure.errors import errors_of
from ckgen.measure.peers import peer
from ckgen.measure.peers.offer import Offer, PeerRefused
from ckgen.measure.timing import Body
from ckgen.model.dtype import DType
from ckgen.runtime.gpu import Gpu

_RIGHT = 0.02
"""The largest error over the largest value: a peer may round in other ways than ours."""


@dataclass(frozen=True, slots=True)
class PeerOutcome:
    """One way of a peer. Where it was not timed `reason` says why; `name` is then the peer's own where it offers none.

    Times and errors are those of Measured.
    """

    peer: str
    name: str
    reason: str = ""
    median_us: float = 0.0
    spread: float = 0.0
    runs: int = 0
    max_rel: float = 0.0
    frob_rel: float = 0.0


def offered(name: str, given: Given, sets: int) -> tuple[dict[str, Body], list[PeerOutcome]]:
    """The ways of a peer that are right, and what became of all, without times. Each of `sets` reads its own copies."""
    if (reason := _beyond(given)) or not isinstance(given, GemmGiven):
        return {}, [PeerOutcome(name, name, reason)]
    found: dict[str, Body] = {}
    outcomes = []
    module, expected = peer(name), next(given.results()).expected
    if not hasattr(module, "offers"):
        return {}, [PeerOutcome(name, name, "it is a peer of GPUs")]
    a, b = (_array(given, side) for side in ("A", "B"))
    each = [module.offers(*((a, b) if not number else (a.copy(), b.copy()))) for number in range(sets)]
    for way in each[0]:
        offers: list[Offer] = [one[way] for one in each]
        bodies = [one for one in offers if isinstance(one, Body)]
        if len(bodies) < len(offers):
            outcomes.append(PeerOutcome(name, way, next(one for one in offers if isinstance(one, str))))
            continue
        body = Body(tuple(call for one in bodies for call in one.calls), bodies[0].rest)
        errors = errors_of([Result(expected, np.asarray(module.array_of(body.calls[0]()), np.float64))])
        is_right = errors.max_rel <= _RIGHT
        reason = "" if is_right else "its result is not the same"
        outcomes.append(PeerOutcome(name, way, reason, max_rel=errors.max_rel, frob_rel=errors.frob_rel))
        if is_right:
            found[way] = body
    return found, outcomes


def offered_on_device(
    name: str, given: Given, placed: DevicePlaced, sets: int, gpu: Gpu
) -> tuple[dict[str, Body], list[PeerOutcome]]:
    """The same of operands in a GPU's memory; what is checked is the first set's C, which is written."""
    if (reason := _beyond(given)) or not isinstance(given, GemmGiven):
        return {}, [PeerOutcome(name, name, reason)]
    module = peer(name)
    if not hasattr(module, "device_offers"):
        return {}, [PeerOutcome(name, name, "it is a peer of CPUs")]
    every = [one.args for one in placed.sets(sets)]
    offers: dict[str, Offer] = module.device_offers(every, given.operands.signature.a, gpu)
    found: dict[str, Body] = {}
    outcomes = []
    for way, body in offers.items():
        if isinstance(body, str):
            outcomes.append(PeerOutcome(name, way, body))
            continue
        placed.send()
        try:
            body.calls[0]()
        except PeerRefused as refused:
            outcomes.append(PeerOutcome(name, way, str(refused)))
            continue
        placed.fetch()
        errors = errors_of(list(given.results()))
        is_right = errors.max_rel <= _RIGHT
        reason = "" if is_right else "its result is not the same"
        outcomes.append(PeerOutcome(name, way, reason, max_rel=errors.max_rel, frob_rel=errors.frob_rel))
        if is_right:
            found[way] = body
    for matrix in given.matrices():
        matrix.restore()
    return found, outcomes


def _beyond(given: Given) -> str:
    """Why no peer is asked for the problem; empty where they are."""
    if not isinstance(given, GemmGiven):
        return "peers are asked for plain products only"
    signature: GemmSignature = given.operands.signature
    is_plain = not signature.epilogue and not signature.bias and signature.a_op is signature.b_op is OperandOp.NONE
    if not is_plain or signature.quant is not Quant.NONE or signature.preshuffle_b:
        return "peers are asked for products without scales, bias and epilogue"
    if signature.layout is not Layout.RCR or given.case.entries > 1:
        return "peers are asked for one product of row-major A and column-major B"
    if min(signature.a.bits, signature.b.bits) < 8 or DType.INT8 in (signature.a, signature.b):
        return f"peers are not asked for {signature.a} and {signature.b}"
    return ""


def _array(given: GemmGiven, name: str) -> npt.NDArray[Any]:
    """[rows, K] as it is stored, without gaps."""
    signature = given.operands.signature
    dtype = encode(np.zeros(1), signature.a if name == "A" else signature.b).dtype
    found: npt.NDArray[Any] = np.ascontiguousarray(given.placed.inputs[name].lines[0]).view(dtype)
    return found
