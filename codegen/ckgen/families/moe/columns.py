"""What the columns of a tuned MoE table mean: how each cell is read, and where it goes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from ckgen.model.dtype import TORCH_NAMES, DType
from ckgen.model.moe_row import GateMode, MoeActivation, MoeScales
from ckgen.tables.cell_readers import CellError, Reader, arch, member_of, number, one_of, positive

_LARGEST_COUNT = 2**16 - 1
_COUNT = re.compile(r"[0-9]{1,9}")
_NO_KERNEL = frozenset({"", "Null"})


def routed(text: str) -> int | CellError:
    """A number of experts, all or those of a token: half of a lookup key's batch (T005)."""
    value = positive(text)
    if isinstance(value, int) and value <= _LARGEST_COUNT:
        return value
    return CellError("T005", "is not a number of experts", f"expected a decimal integer from 1 to {_LARGEST_COUNT}")


def top_k(text: str) -> int | CellError | None:
    """The experts of a token; -1 means that the row does not tell (T005)."""
    return None if text == "-1" else routed(text)


def count(text: str) -> int | CellError:
    """An integer from 0 on (T008)."""
    if _COUNT.fullmatch(text):
        return int(text)
    return CellError("T008", "is not a count", "expected a decimal integer of at least 0")


def share(text: str) -> float | CellError:
    """A share of mismatching elements: per cent where a sign says so, else a ratio (T008)."""
    value = number(text.removesuffix("%"))
    if isinstance(value, CellError):
        return CellError("T008", "is not a share", "expected a decimal number, or per cent such as 0.8%")
    return value / 100 if text.endswith("%") else value


def kernel(text: str) -> str:
    """A kernel's name, empty where the cell says that there is none."""
    return "" if text in _NO_KERNEL else text


def _member(enum: type[Enum], name: str) -> Reader:
    return member_of(name, {f"{name}.{one.value}": one for one in enum})


_BIT = one_of({"0": False, "1": True, "False": False, "True": True})
_DTYPE = member_of("torch", {**TORCH_NAMES, "torch.int4": DType.INT4})

KEYS: Mapping[str, Reader] = {
    "gfx": arch, "cu_num": positive, "token": positive, "model_dim": positive, "inter_dim": positive,
    "expert": routed, "topk": top_k,
}  # fmt: skip
"""Target, sizes and routing: none of those that a header has may be empty."""

REQUIRED: Mapping[str, tuple[str, Reader]] = {
    "act_type": ("activation", _member(MoeActivation, "ActivationType")),
    "dtype": ("out_dtype", _DTYPE),
    "q_dtype_a": ("in_dtype", _DTYPE),
    "q_dtype_w": ("weight_dtype", _DTYPE),
    "q_type": ("scales", _member(MoeScales, "QuantType")),
    "use_g1u1": ("gated", _BIT),
    "doweight_stage1": ("weight_first", _BIT),
}
"""Column → field of `MoeDiscriminators`, and how its cells are read; every row of every dialect says these."""

OPTIONAL: Mapping[str, tuple[str, Reader, object]] = {
    "gate_mode": ("gate_mode", _member(GateMode, "GateMode"), GateMode.SEPARATED),
    "max_m": ("max_m", positive, None),
    "shared_expert_id": ("shared_expert", count, None),
    "hidden_pad": ("hidden_pad", count, 0),
    "intermediate_pad": ("inter_pad", count, 0),
    "_tag": ("tag", str, ""),
}
"""The same of columns that only some dialects have, with what an empty cell means."""

NAMES = ("kernelName1", "kernelName2")
COLUMNS = (*(name for name in KEYS if name != "gfx"), *REQUIRED, NAMES[0])
"""Every column that a tuned MoE table must have."""
STAGE_TIMES = ("us1", "us2")
STAGE_ERRORS = ("err1", "err2")
ONE_STAGE = "run_1stage"
BLOCK_M = "block_m"
SPLIT_K = "ksplit"
TIME = "us"
BIT = _BIT
