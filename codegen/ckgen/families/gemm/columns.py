"""What the columns of a tuned GEMM table mean: how each cell is read, and where it goes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ckgen.model.dtype import TORCH_NAMES
from ckgen.model.module import SplitK
from ckgen.tables.cell_readers import LARGEST, CellError, Reader, arch, member_of, number, one_of, positive

ERROR_COLUMNS = ("errRatio", "err_ratio")
BATCH_COLUMN = "B"
_LIBRARY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_LARGEST_LOG2 = 30


def library(generated: tuple[str, ...]) -> Reader:
    """A reader of library names: any word, but no other spelling of a library that ckgen builds (T006)."""
    plain = {_plain(name): name for name in generated}

    def read(text: str) -> object:
        own = plain.get(_plain(text), text)
        if own == text and _LIBRARY.fullmatch(text):
            return text
        wanted = f"the spelling {own!r}" if own != text else "a library name such as ck, cktile, asm or flydsl"
        return CellError("T006", "is not a known value", f"expected {wanted}")

    return read


def k_batch(meaning: SplitK, text: str) -> int | CellError | None:
    """How many K splits a trimmed `splitK` cell means; empty reads as 0, None: the kernel decides (T008)."""
    value = number(text or "0")
    if isinstance(value, CellError):
        return value
    if meaning is SplitK.IGNORED:
        return 1
    largest = _LARGEST_LOG2 if meaning is SplitK.LOG2 else LARGEST
    if not (0 <= value <= largest and value.is_integer()):
        what = "log2 of the K batch" if meaning is SplitK.LOG2 else "a count of K splits"
        return CellError("T008", f"is not {what}", f"expected an integer from 0 to {largest}")
    if meaning is SplitK.LOG2:
        return 1 << int(value)
    return int(value) or None


def _plain(name: str) -> str:
    return re.sub(r"[^0-9a-z]", "", name.lower())


_BOOL = one_of({"True": True, "False": False})
_DTYPE = member_of("torch", TORCH_NAMES)

INTEGER_KEYS: Mapping[str, Reader] = {"cu_num": positive, "B": positive, "M": positive, "N": positive, "K": positive}

DISCRIMINATORS: Mapping[str, tuple[str, Reader]] = {
    "q_dtype_w": ("weight_dtype", _DTYPE),
    "dtype": ("in_dtype", _DTYPE),
    "outdtype": ("out_dtype", _DTYPE),
    "bias": ("bias", _BOOL),
    "scaleAB": ("scale_ab", _BOOL),
    "bpreshuffle": ("preshuffle_b", _BOOL),
}
"""Column → field of `Discriminators`, and how its cells are read."""

OPERAND_COLUMNS = ("q_dtype_w", "dtype")
"""Either tells the type of operands."""

UNREAD = frozenset({"kernelId", "solidx", "tflops", "bw"})
"""What tuners write beside: names tell kernels, and the rest follows from sizes and times."""

KEY_COLUMNS: Mapping[str, Reader] = {
    "gfx": arch,
    **INTEGER_KEYS,
    **{column: reader for column, (_, reader) in DISCRIMINATORS.items()},
}
"""Every column that may decide which row answers: none of those that a header has may be empty."""
