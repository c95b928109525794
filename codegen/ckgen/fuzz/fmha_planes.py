"""Planes of attention in guarded memory: a bias of elements and given bytes, with strides of 0 where one serves all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ckgen.families.common.storage import Storage, encode
from ckgen.families.fmha.enums import FmhaBias
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.fuzz.case import Case
from ckgen.fuzz.fmha_memory import Tensor, gathered, tensor
from ckgen.fuzz.fmha_sizes import Rows
from ckgen.fuzz.memory import Matrix
from ckgen.runtime.fmha import FmhaStridesStruct


def planes_of(operands: FmhaOperands, case: Case, of_q: Rows) -> tuple[dict[str, Any], dict[str, Matrix]]:
    """Members of FmhaArgs, and the memory that they point to."""
    planes: dict[str, Storage] = {}
    if operands.signature.traits.bias is FmhaBias.ELEMENTWISE and operands.bias is not None:
        planes["bias"] = encode(operands.bias, operands.signature.a)
    if operands.dropout is not None and operands.dropout.rand_val is not None:
        planes["rand_val"] = operands.dropout.rand_val
    found: dict[str, Any] = {}
    inputs: dict[str, Matrix] = {}
    for name, values in planes.items():
        one, of_one = plane(values, case, of_q, operands.lengths.q)
        inputs[name] = one.matrix
        found |= {name: one.address, f"{name}_strides": of_one}
    return found, inputs


def plane(
    values: Storage, case: Case, of_q: Rows, lengths: tuple[int, ...], *, is_written: bool = False
) -> tuple[Tensor, FmhaStridesStruct]:
    """[batch, heads, rows, columns] with 1 for batch or heads where one serves all."""
    if of_q.starts:  # rows of all sequences lie in one plane
        values = np.broadcast_to(values, (len(lengths), *values.shape[1:]))
    stored = gathered(values.transpose(0, 2, 1, 3), of_q, lengths[: values.shape[0]])
    one = tensor(stored, case.gap_d, head_first=case.head_first, is_written=is_written)
    strides = FmhaStridesStruct(one.row, one.head * (values.shape[1] > 1), one.batch * (values.shape[0] > 1))
    return one, strides
